"""What terraform/*.tf promises. Each function returns the faults that it finds."""

import re
from datetime import datetime, timedelta

from .documents import Config, get

Faults = list[str]


def faults(*checks: tuple[bool, str]) -> Faults:
    return [fault for kept, fault in checks if not kept]


def nodes_are_private(config: Config) -> Faults:
    found = faults(
        (
            get(config.cluster, "private_cluster_config", "enable_private_nodes") is True,
            "cluster: public nodes",
        )
    )
    for name, pool in config.pools.items():
        if get(pool, "network_config", "enable_private_nodes") is not True:
            found.append(f"pool {name}: public nodes")
    return found


def nodes_reach_out_through_nat(config: Config) -> Faults:
    nats = config.of_type("google_compute_router_nat")
    own = "${google_compute_subnetwork.nodes.id}"
    return faults(
        (any(get(nat, "subnetwork", "name") == own for nat in nats), "no NAT for the nodes' subnetwork")
    )


def control_plane_is_closed_to_strangers(config: Config) -> Faults:
    block = get(config.cluster, "master_authorized_networks_config")
    allowed = get(block, "dynamic", "cidr_blocks", "for_each")
    return faults(
        (get(block, "gcp_public_cidrs_access_enabled") is False, "all of Google Cloud may connect"),
        (allowed == "${var.authorized_networks}", "the authorised networks are not the operator's"),
        (
            "default" not in config.named("variable")["authorized_networks"],
            "someone is authorised by default",
        ),
        (not any("0.0.0.0/0" in text for text in config.strings()), "0.0.0.0/0 is named"),
    )


PUBLIC = re.compile(
    r"google_compute_(\w*address|\w*forwarding_rule|instance|\w*url_map|\w*target_\w+_proxy)$"
)


def nothing_is_public(config: Config) -> Faults:
    found = [f"{name} makes something public" for name in config.resources if PUBLIC.match(name)]
    found += ["a firewall rule opens the network" for _ in config.of_type("google_compute_firewall")]
    for text in config.strings():
        if text in ("allUsers", "allAuthenticatedUsers"):
            found.append(f"something is granted to {text}")
    return found + faults(
        (
            get(config.cluster, "addons_config", "http_load_balancing", "disabled") is True,
            "Ingress would be served",
        ),
        (
            get(config.cluster, "service_external_ips_config", "enabled") is False,
            "Services may have external IPs",
        ),
        (
            get(config.of_type("google_compute_network"), 0, "auto_create_subnetworks") is False,
            "subnets everywhere",
        ),
    )


def pods_have_their_own_identity(config: Config) -> Faults:
    pool = get(config.cluster, "workload_identity_config", "workload_pool")
    found = faults((pool == "${local.workload_pool}", "Workload Identity is off"))
    for name, each in {"first": config.cluster, **config.pools}.items():
        if get(each, "node_config", "workload_metadata_config", "mode") != "GKE_METADATA":
            found.append(f"pool {name}: pods can act as their node")
    return found


def nodes_are_shielded(config: Config) -> Faults:
    found = faults((config.cluster.get("enable_shielded_nodes") is True, "cluster: shielded nodes are off"))
    for name, each in {"first": config.cluster, **config.pools}.items():
        shield = get(each, "node_config", "shielded_instance_config")
        for part in ("enable_secure_boot", "enable_integrity_monitoring"):
            if get(shield, part) is not True:
                found.append(f"pool {name}: {part} is off")
    return found


def network_policies_are_enforced(config: Config) -> Faults:
    return faults((config.cluster.get("datapath_provider") == "ADVANCED_DATAPATH", "Dataplane V2 is off"))


def upgrades_wait_for_the_weekend(config: Config) -> Faults:
    window = get(config.cluster, "maintenance_policy", "recurring_window", default={})
    if get(window, "recurrence") != "FREQ=WEEKLY;BYDAY=SA,SU":
        return ["a machine may be replaced in mid-class"]
    start, end = (datetime.fromisoformat(get(window, name)) for name in ("start_time", "end_time"))
    hours = [
        start + timedelta(days=day, hours=hour)
        for day in (0, 1)
        for hour in range((end - start).seconds // 3600)
    ]
    local = [hour + timedelta(hours=zone) for hour in hours for zone in range(-10, 14)]
    at_work = [hour for hour in local if hour.weekday() < 5 and 8 <= hour.hour < 18]
    return faults(
        (start.weekday() == 5, "the window does not start on a Saturday"),
        (not at_work, f"somewhere it is then {min(at_work, default=start):%A %H}:00"),
        (4 * len(hours) >= 48, "GKE refuses so short a window"),
    )


def gpu_pools_scale_to_zero(config: Config) -> Faults:
    pool = config.pools["gpu"]
    return faults(
        (pool.get("initial_node_count") == 0, "starts with a machine"),
        (get(pool, "autoscaling", "min_node_count") == 0, "keeps a machine"),
        (
            get(pool, "autoscaling", "max_node_count") == "${each.value.max_nodes}",
            "has no upper bound of its own",
        ),
        ("node_count" not in pool, "has a fixed size"),
    )


def gpu_pools_keep_other_pods_off(config: Config) -> Faults:
    taint = get(config.pools["gpu"], "node_config", "taint")
    wanted = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    return faults((taint == [wanted], "any pod may keep a GPU machine alive"))


def gpu_pools_can_be_spot(config: Config) -> Faults:
    node = get(config.pools["gpu"], "node_config")
    return faults((get(node, "spot") == "${each.value.spot}", "spot cannot be chosen"))


ROLES = {
    "google_project_iam_member": {"roles/container.defaultNodeServiceAccount"},
    "google_artifact_registry_repository_iam_member": {"roles/artifactregistry.reader"},
    "google_storage_bucket_iam_member": {"roles/storage.objectUser"},
}


def rights_are_the_least(config: Config) -> Faults:
    found = []
    for name, members in config.resources.items():
        for member in members.values() if "_iam_" in name else []:
            if member.get("role") not in ROLES.get(name, set()):
                found.append(f"{name} grants {member.get('role')}")
    for name, each in {"first": config.cluster, **config.pools}.items():
        if get(each, "node_config", "service_account") != "${google_service_account.nodes.email}":
            found.append(f"pool {name}: runs as the project's default account")
    bucket = get(config.of_type("google_storage_bucket_iam_member"), 0, "member")
    return found + faults((bucket == "${local.collector}", "more than the collector sees the bucket"))


SECRETS = re.compile(r"_key$|secret|password|certificate|tls_|random_|kubernetes_|helm_|token|credentials$")


def state_holds_no_secret(config: Config) -> Faults:
    found = [f"{name} is kept in the state" for name in config.resources if SECRETS.search(name)]
    for kind in ("variable", "output"):
        for name, body in config.named(kind).items():
            if "sensitive" in body or SECRETS.search(name):
                found.append(f"{kind} {name} is a secret")
    found += [f"provider is given {key}" for key in config.named("provider")["google"] if SECRETS.search(key)]
    issued = get(config.cluster, "master_auth", "client_certificate_config", "issue_client_certificate")
    return found + faults((issued is False, "a client certificate is issued"))


API_OF = {
    "google_artifact_registry_": "artifactregistry",
    "google_billing_budget": "billingbudgets",
    "google_compute_": "compute",
    "google_container_": "container",
    "google_project_iam_": "cloudresourcemanager",
    "google_service_account": "iam",
    "google_storage_": "storage",
}


def apis_are_enabled(config: Config) -> Faults:
    (api,) = config.of_type("google_project_service")
    enabled = api["for_each"]
    needed = {
        service for prefix, service in API_OF.items() for name in config.resources if name.startswith(prefix)
    }
    unknown = [name for name in config.resources if not name.startswith((*API_OF, "google_project_service"))]
    return (
        [
            f"{service} is not enabled"
            for service in sorted(needed)
            if f'"{service}.googleapis.com"' not in enabled
        ]
        + [f"{name} needs an API that the test does not know" for name in unknown]
        + faults((api.get("disable_on_destroy") is False, "destroy would switch off APIs that others use"))
    )


def spending_raises_an_alert(config: Config) -> Faults:
    budgets = config.of_type("google_billing_budget")
    if not budgets:
        return ["no budget"]
    (budget,) = budgets
    steps = get(budget, "dynamic", "threshold_rules", "for_each", default=[])
    return faults(
        (1.0 in steps and any(step < 1 for step in steps), "no alert before and at the budget"),
        (get(budget, "budget_filter", "projects") is not None, "other projects' spending counts"),
        (
            get(budget, "amount", "specified_amount", "units") == "${tostring(var.budget_amount)}",
            "fixed amount",
        ),
    )


def bucket_is_private(config: Config) -> Faults:
    (bucket,) = config.of_type("google_storage_bucket")
    return faults(
        (bucket.get("public_access_prevention") == "enforced", "the bucket could be made public"),
        (bucket.get("uniform_bucket_level_access") is True, "single objects could be made public"),
        (bucket.get("force_destroy") is False, "destroy would delete grades"),
    )


def image_tags_cannot_move(config: Config) -> Faults:
    (registry,) = config.of_type("google_artifact_registry_repository")
    return faults((get(registry, "docker_config", "immutable_tags") is True, "a tag could be pushed twice"))


def cluster_can_be_destroyed(config: Config) -> Faults:
    protection = config.named("variable")["deletion_protection"]
    return faults(
        (
            config.cluster.get("deletion_protection") == "${var.deletion_protection}",
            "protection cannot be chosen",
        ),
        (protection.get("default") is False, "destroy is refused by default"),
    )


def versions_are_pinned(config: Config) -> Faults:
    (settings,) = config.blocks["terraform"]
    found = faults(("<" in settings.get("required_version", ""), "Terraform itself has no upper bound"))
    for name, provider in get(settings, "required_providers", 0).items():
        if not re.fullmatch(r"\d+\.\d+\.\d+", provider["version"]):
            found.append(f"provider {name} is not pinned")
    return found


def variables_are_explained_and_checked(config: Config) -> Faults:
    found = []
    for name, body in config.named("variable").items():
        for key in ("description", "type"):
            if not body.get(key):
                found.append(f"{name} has no {key}")
        if body.get("nullable") is not False:
            found.append(f"{name} may be null")
        if "bool" not in body.get("type", "") and "validation" not in body:
            found.append(f"{name} is not validated")
    return found


def outputs_are_explained(config: Config) -> Faults:
    outputs = config.named("output")
    found = [f"{name} has no description" for name, body in outputs.items() if not body.get("description")]
    return found + faults(("get_credentials_command" in outputs, "get_credentials_command is missing"))


REFERENCE = re.compile(r"(?<![\w.])(var|local|data\.google_\w+|google_\w+)\.(\w+)")


def references_resolve(config: Config) -> Faults:
    names = {"var": config.named("variable"), **config.resources}
    names["local"] = {key: None for block in config.blocks["locals"] for key in block}
    names |= {f"data.{kind}": found for kind, found in config.named("data").items()}
    used = {match.groups() for text in config.strings() for match in REFERENCE.finditer(text)}
    missing = [
        f"{kind}.{name} does not exist" for kind, name in sorted(used) if name not in names.get(kind, {})
    ]
    unused = [
        f"{kind}.{name} is never used"
        for kind in ("var", "local")
        for name in names[kind]
        if (kind, name) not in used
    ]
    return missing + unused
