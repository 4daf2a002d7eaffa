"""What terraform/deploy/ promises. Each function returns the faults that it finds."""

from collections.abc import Iterator
from typing import Any

from autograder import doctor

from .documents import Document, get

Documents = list[Document]
Faults = list[str]
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
DOCTOR_SECONDS = 3 * doctor.PROBE_SECONDS
"""JAX, TransformerEngine, and what is graded here."""


def of_kind(documents: Documents, *kinds: str) -> Documents:
    return [document for document in documents if document["kind"] in kinds]


def pods(documents: Documents) -> Iterator[tuple[str, Document]]:
    for document in documents:
        if template := get(document, "spec", "template"):
            yield f"{document['kind']} {document['metadata']['name']}", template["spec"]


def containers(documents: Documents) -> Iterator[tuple[str, Document]]:
    for name, pod in pods(documents):
        for container in pod["containers"] + pod.get("initContainers", []):
            yield f"{name}/{container['name']}", container


def job(documents: Documents) -> Document:
    (job,) = of_kind(documents, "Job")
    return job


def deployment(documents: Documents) -> Document:
    (deployment,) = of_kind(documents, "Deployment")
    return deployment


def wrong(where: str, document: Any, **wanted: Any) -> Faults:
    """Faults for what differs; a double underscore in a name is a step inside."""
    return [
        f"{where}: {path.replace('__', '.')} is not {value}"
        for path, value in wanted.items()
        if get(document, *path.split("__")) != value
    ]


def nothing_is_public(documents: Documents) -> Faults:
    found = [
        f"{each['kind']} {each['metadata']['name']}" for each in of_kind(documents, "Ingress", "Gateway")
    ]
    for service in of_kind(documents, "Service"):
        if get(service, "spec", "type", default="ClusterIP") != "ClusterIP" or get(
            service, "spec", "externalIPs"
        ):
            found.append(f"Service {service['metadata']['name']} is public")
    for name, container in containers(documents):
        if any("hostPort" in port for port in container.get("ports", [])):
            found.append(f"{name} has a port on its node")
    quotas = [get(quota, "spec", "hard", default={}) for quota in of_kind(documents, "ResourceQuota")]
    for key in ("services.loadbalancers", "services.nodeports"):
        if not any(quota.get(key) == "0" for quota in quotas):
            found.append(f"{key} are not forbidden")
    return found


def jupyter_listens_to_itself_only(documents: Documents) -> Faults:
    command = deployment(documents)["spec"]["template"]["spec"]["containers"][0]["command"]
    found = [] if "--ip=127.0.0.1" in command else ["Jupyter listens to the network"]
    return found + [
        f"Jupyter is started with {word}" for word in command if "token" in word or "password" in word
    ]


def network_is_denied(documents: Documents) -> Faults:
    policies = of_kind(documents, "NetworkPolicy")
    found = [] if policies else ["no network policy"]
    for policy in policies:
        spec, name = policy["spec"], policy["metadata"]["name"]
        if spec.get("podSelector") != {}:
            found.append(f"{name} leaves pods out")
        if set(spec.get("policyTypes", [])) != {"Ingress", "Egress"}:
            found.append(f"{name} leaves a direction open")
        found += [f"{name} allows some {way}" for way in ("ingress", "egress") if spec.get(way)]
    return found


def no_token_is_mounted(documents: Documents) -> Faults:
    found = []
    for name, pod in pods(documents):
        found += wrong(name, pod, automountServiceAccountToken=False, enableServiceLinks=False)
        accounts = {account["metadata"]["name"] for account in of_kind(documents, "ServiceAccount")}
        if pod.get("serviceAccountName") not in accounts - {"default"}:
            found.append(f"{name} has no account of its own")
        found += [
            f"{name} mounts {volume['name']}"
            for volume in pod["volumes"]
            if {"projected", "secret"} & {*volume}
        ]
    for account in of_kind(documents, "ServiceAccount"):
        found += wrong(account["metadata"]["name"], account, automountServiceAccountToken=False)
        if get(account, "metadata", "annotations"):
            found.append(f"{account['metadata']['name']} stands for a cloud account")
    return found


def nobody_is_root(documents: Documents) -> Faults:
    found = []
    for name, pod in pods(documents):
        found += wrong(name, pod, securityContext__runAsNonRoot=True)
        for key in ("runAsUser", "runAsGroup"):
            if get(pod, "securityContext", key, default=0) < 10000:
                found.append(f"{name}: {key} may be one of the node's own")
    for name, container in containers(documents):
        found += wrong(name, container, securityContext__allowPrivilegeEscalation=False)
        overridden = {"runAsUser", "runAsGroup", "runAsNonRoot", "privileged"} & {
            *container["securityContext"]
        }
        found += [f"{name}: sets {key}" for key in sorted(overridden)]
    return found


def root_file_systems_are_read_only(documents: Documents) -> Faults:
    return [
        fault
        for name, container in containers(documents)
        for fault in wrong(name, container, securityContext__readOnlyRootFilesystem=True)
    ]


def capabilities_are_dropped(documents: Documents) -> Faults:
    return [
        fault
        for name, container in containers(documents)
        for fault in wrong(name, container, securityContext__capabilities={"drop": ["ALL"]})
    ]


def system_calls_are_filtered(documents: Documents) -> Faults:
    found = []
    for name, pod in pods(documents):
        found += wrong(name, pod, securityContext__seccompProfile={"type": "RuntimeDefault"})
    for name, container in containers(documents):
        if "seccompProfile" in container["securityContext"]:
            found.append(f"{name}: a filter of its own")
    return found


def the_node_stays_out_of_reach(documents: Documents) -> Faults:
    found = []
    for name, pod in pods(documents):
        found += [f"{name}: {key}" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
        found += [
            f"{name} mounts the node's {volume['name']}" for volume in pod["volumes"] if "hostPath" in volume
        ]
    return found


def resources_are_limited(documents: Documents) -> Faults:
    found = []
    for name, container in containers(documents):
        limits = get(container, "resources", "limits", default={})
        wanted = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")
        found += [f"{name}: {key} is not limited" for key in wanted if key not in limits]
    for name, pod in pods(documents):
        for volume in pod["volumes"]:
            if "emptyDir" in volume and not get(volume, "emptyDir", "sizeLimit"):
                found.append(f"{name}: {volume['name']} is not limited")
    return found


def a_slip_does_not_fill_the_cluster(documents: Documents) -> Faults:
    (quota,) = of_kind(documents, "ResourceQuota")
    hard = {name: int(number) for name, number in quota["spec"]["hard"].items() if number.isdigit()}
    return [
        f"{name} are not bounded"
        for name, most in {"pods": 50, "requests.nvidia.com/gpu": 16}.items()
        if not 2 <= hard.get(name, 0) <= most  # Jupyter alone has two GPUs
    ]


def graders_do_not_feel_their_neighbours(documents: Documents) -> Faults:
    resources = get(job(documents), "spec", "template", "spec", "containers", "resources")
    return [] if resources["requests"] == resources["limits"] else ["requests and limits differ"]


def grading_ends(documents: Documents) -> Faults:
    spec = job(documents)["spec"]
    found = wrong("Job", spec, backoffLimit=0, template__spec__restartPolicy="Never")
    waiting, running = (
        spec.get("activeDeadlineSeconds"),
        get(spec, "template", "spec", "activeDeadlineSeconds"),
    )
    if not (running and waiting and 0 < running < waiting <= 86400):
        found.append("Job: no deadline")
    if not 0 < spec.get("ttlSecondsAfterFinished", 0) <= 7 * 86400:
        found.append("Job: is never cleaned up")
    return found


def a_machine_taken_away_is_no_failure(documents: Documents) -> Faults:
    rules = get(job(documents), "spec", "podFailurePolicy", "rules", default=[])
    ignored = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    return [] if ignored in rules else ["a spot machine that is taken away fails the job"]


def graders_see_one_submission_and_cannot_change_it(documents: Documents) -> Faults:
    pod = get(job(documents), "spec", "template", "spec")
    found = [f"volume {each['name']}" for each in pod["volumes"] if not {"configMap", "emptyDir"} & {*each}]
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    if mounts["submission"].get("readOnly") is not True:
        found.append("the submission can be written")
    if any("env" in key and "from" in key.lower() for key in pod["containers"][0]):
        found.append("the environment comes from elsewhere")
    return found


def work_is_kept(documents: Documents) -> Faults:
    (claim,) = of_kind(documents, "PersistentVolumeClaim")
    pod = deployment(documents)["spec"]["template"]["spec"]
    found = wrong("claim", claim, spec__resources__requests__storage="50Gi")
    kept = [volume["name"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    places = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"] if mount["name"] in kept}
    if places != {"/workspace"}:
        found.append("/workspace is lost with the pod")
    return found + wrong("Deployment", deployment(documents), spec__strategy__type="Recreate")


def doctor_looks_at_the_pod(documents: Documents) -> Faults:
    container = get(deployment(documents), "spec", "template", "spec", "containers", 0)
    probes = {name: get(container, name, "exec", "command", default=[]) for name in PROBES}
    asks = {name for name, command in probes.items() if "grade doctor" in " ".join(command)}
    found = [] if "startupProbe" in asks else ["nobody looks whether the pod can grade"]
    found += [f"{name} would start JAX beside a measurement" for name in sorted(asks - {"startupProbe"})]
    if get(container, "startupProbe", "timeoutSeconds", default=1) < DOCTOR_SECONDS:
        found.append("doctor is not given the time that it gives itself")
    return found


def pods_find_their_gpu(documents: Documents) -> Faults:
    found = []
    for name, pod in pods(documents):
        if not get(pod, "nodeSelector", "cloud.google.com/gke-accelerator"):
            found.append(f"{name} does not say which GPU")
        if not any(each.get("key") == "nvidia.com/gpu" for each in pod.get("tolerations", [])):
            found.append(f"{name} cannot run on a GPU machine")
    return found


def namespace_is_restricted(documents: Documents) -> Faults:
    (namespace,) = of_kind(documents, "Namespace")
    level = get(namespace, "metadata", "labels", "pod-security.kubernetes.io/enforce")
    return [] if level == "restricted" else ["pods that are less locked down are let in"]


def images_are_named_by_an_overlay(documents: Documents) -> Faults:
    return [
        f"{name} would pull a stranger's {container['image']}"
        for name, container in containers(documents)
        if not container["image"].startswith("attention-lab.invalid/")
    ]
