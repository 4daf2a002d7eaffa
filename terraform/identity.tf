# What a node may do: write logs and metrics, and pull the project's own image (registry.tf).
resource "google_service_account" "nodes" {
  account_id   = "${var.name}-nodes"
  display_name = "Nodes of ${var.name}"

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "nodes" {
  project = var.project_id
  role    = "roles/container.defaultNodeServiceAccount"
  member  = google_service_account.nodes.member
}

locals {
  # A Kubernetes service account as Google Cloud sees it. No key exists that could be copied.
  # The pool is born with the cluster, hence the cluster's own attribute.
  collector = join("/", [
    "principal://iam.googleapis.com/projects/${data.google_project.this.number}/locations/global",
    "workloadIdentityPools/${google_container_cluster.this.workload_identity_config[0].workload_pool}",
    "subject/ns/${var.namespace}/sa/collector",
  ])
}
