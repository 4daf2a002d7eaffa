"""Copies of terraform/*.tf that break a promise: by promise, (file, what is replaced, by what)."""

MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "nodes_are_private": [
        ("cluster.tf", "enable_private_nodes    = true", "enable_private_nodes = false"),
        ("cluster.tf", "enable_private_nodes = true", "enable_private_nodes = false"),
        ("gpu.tf", "enable_private_nodes = true", "enable_private_nodes = false"),
    ],
    "nodes_reach_out_through_nat": [
        ("network.tf", "name                    = google_compute_subnetwork.nodes.id", 'name = "other"')
    ],
    "control_plane_is_closed_to_strangers": [
        ("cluster.tf", "gcp_public_cidrs_access_enabled = false", "gcp_public_cidrs_access_enabled = true"),
        ("cluster.tf", "for_each = var.authorized_networks", 'for_each = { all = "198.18.0.0/15" }'),
        ("cluster.tf", "for_each = var.authorized_networks", 'for_each = { all = "0.0.0.0/0" }'),
        ("variables.tf", "type        = map(string)", "type = map(string)\n  default = {}"),
    ],
    "nothing_is_public": [
        ("network.tf", 'resource "google_compute_router" "this"', 'resource "google_compute_address" "this"'),
        (
            "network.tf",
            'resource "google_compute_router" "this"',
            'resource "google_compute_firewall" "this"',
        ),
        (
            "network.tf",
            'resource "google_compute_router" "this"',
            'resource "google_compute_global_address" "a"',
        ),
        (
            "network.tf",
            'resource "google_compute_router" "this"',
            'resource "google_compute_forwarding_rule" "a"',
        ),
        ("storage.tf", "local.collector", '"allUsers"'),
        ("cluster.tf", "disabled = true", "disabled = false"),
        ("cluster.tf", "service_external_ips_config {\n    enabled = false", "x {\n    enabled = true"),
        ("network.tf", "auto_create_subnetworks = false", "auto_create_subnetworks = true"),
    ],
    "pods_have_their_own_identity": [
        ("cluster.tf", "workload_pool = local.workload_pool", "workload_pool = null"),
        ("cluster.tf", 'mode = "GKE_METADATA"', 'mode = "GCE_METADATA"'),
        ("gpu.tf", 'mode = "GKE_METADATA"', 'mode = "GCE_METADATA"'),
    ],
    "nodes_are_shielded": [
        ("cluster.tf", "enable_shielded_nodes       = true", "enable_shielded_nodes = false"),
        ("cluster.tf", "enable_secure_boot          = true", "enable_secure_boot = false"),
        ("gpu.tf", "enable_secure_boot          = true", "enable_secure_boot = false"),
        ("gpu.tf", "enable_integrity_monitoring = true", "enable_integrity_monitoring = false"),
    ],
    "network_policies_are_enforced": [("cluster.tf", '"ADVANCED_DATAPATH"', '"LEGACY_DATAPATH"')],
    "upgrades_wait_for_the_weekend": [
        ("cluster.tf", "maintenance_policy", "policy"),
        ("cluster.tf", "BYDAY=SA,SU", "BYDAY=SA,SU,MO"),
        ("cluster.tf", "03T06:00:00Z", "02T06:00:00Z"),
        ("cluster.tf", "03T16:00:00Z", "03T22:00:00Z"),
        ("cluster.tf", "03T16:00:00Z", "03T10:00:00Z"),
    ],
    "gpu_pools_scale_to_zero": [
        ("gpu.tf", "min_node_count = 0", "min_node_count = 1"),
        ("gpu.tf", "initial_node_count = 0", "initial_node_count = 1"),
        ("gpu.tf", "initial_node_count = 0", "initial_node_count = 0\n  node_count = 1"),
        ("gpu.tf", "max_node_count = each.value.max_nodes", "max_node_count = 1000"),
    ],
    "gpu_pools_keep_other_pods_off": [("gpu.tf", '"NO_SCHEDULE"', '"PREFER_NO_SCHEDULE"')],
    "gpu_pools_can_be_spot": [("gpu.tf", "each.value.spot", "false")],
    "rights_are_the_least": [
        ("identity.tf", "roles/container.defaultNodeServiceAccount", "roles/editor"),
        ("registry.tf", "roles/artifactregistry.reader", "roles/artifactregistry.admin"),
        ("storage.tf", "local.collector", "google_service_account.nodes.member"),
        ("storage.tf", "roles/storage.objectUser", "roles/storage.admin"),
        ("gpu.tf", "google_service_account.nodes.email", '"default"'),
    ],
    "state_holds_no_secret": [
        ("versions.tf", 'provider "google" {', 'provider "google" {\n  credentials = "key.json"'),
        ("cluster.tf", "issue_client_certificate = false", "issue_client_certificate = true"),
        ("identity.tf", '"google_service_account" "nodes"', '"google_service_account_key" "nodes"'),
        ("outputs.tf", 'output "bucket" {', 'output "bucket" {\n  sensitive = true'),
        ("variables.tf", 'variable "name" {', 'variable "jupyter_token" {}\nvariable "name" {'),
    ],
    "apis_are_enabled": [
        ("apis.tf", '"container.googleapis.com",', ""),
        ("apis.tf", '"iam.googleapis.com",', ""),
        ("apis.tf", "disable_on_destroy = false", "disable_on_destroy = true"),
        ("network.tf", '"google_compute_router" "this"', '"google_redis_instance" "this"'),
    ],
    "spending_raises_an_alert": [
        ("budget.tf", "[0.5, 0.9, 1.0]", "[1.0]"),
        ("budget.tf", "projects =", "services ="),
        ("budget.tf", "tostring(var.budget_amount)", '"1000000"'),
        ("budget.tf", '"google_billing_budget" "this"', '"google_compute_route" "this"'),
    ],
    "bucket_is_private": [
        ("storage.tf", '"enforced"', '"inherited"'),
        ("storage.tf", "uniform_bucket_level_access = true", "uniform_bucket_level_access = false"),
        ("storage.tf", "force_destroy = false", "force_destroy = true"),
    ],
    "image_tags_cannot_move": [("registry.tf", "immutable_tags = true", "immutable_tags = false")],
    "cluster_can_be_destroyed": [
        ("cluster.tf", "deletion_protection = var.deletion_protection", "deletion_protection = true"),
        ("variables.tf", "default     = false", "default     = true"),
    ],
    "versions_are_pinned": [
        ("versions.tf", '"6.50.0"', '">= 6.50"'),
        ("versions.tf", ', < 2.0"', '"'),
    ],
    "variables_are_explained_and_checked": [
        ("variables.tf", "type        = bool", ""),
        ("variables.tf", 'description = "Prefix of everything that is created."', ""),
        ("variables.tf", "default     = 180\n  nullable    = false", "default     = 180"),
        (
            "variables.tf",
            'variable "name" {',
            'variable "x" {\n  description = "x"\n  type = string\n}\nvariable "name" {',
        ),
    ],
    "outputs_are_explained": [
        ("outputs.tf", 'description = "Points kubectl at the cluster."', ""),
        ("outputs.tf", "get_credentials_command", "credentials"),
    ],
    "references_resolve": [
        ("cluster.tf", "google_compute_network.this.id", "google_compute_network.that.id"),
        ("gpu.tf", "var.gpu_pools", "var.pools"),
        ("cluster.tf", "local.workload_pool", "local.pool"),
        ("budget.tf", "data.google_project.this", "data.google_project.that"),
        ("variables.tf", 'variable "name" {', 'variable "unused" {}\nvariable "name" {'),
    ],
}
