output "get_credentials_command" {
  description = "Points kubectl at the cluster."
  value = join(" ", [
    "gcloud container clusters get-credentials ${google_container_cluster.this.name}",
    "--location ${google_container_cluster.this.location} --project ${var.project_id}",
  ])
}

output "image" {
  description = "Where the grader's image is pushed and pulled, without its tag."
  value = join("/", [
    "${google_artifact_registry_repository.images.location}-docker.pkg.dev",
    var.project_id,
    google_artifact_registry_repository.images.name,
    "grader",
  ])
}

output "bucket" {
  description = "For submissions and reports; nothing in deploy/ fills it yet."
  value       = google_storage_bucket.class.url
}

output "leftover_disks_command" {
  description = "Lists disks that claims left behind; each is paid for until it is deleted."
  value       = "gcloud compute disks list --project ${var.project_id} --filter='name~^pvc-'"
}
