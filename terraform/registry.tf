resource "google_artifact_registry_repository" "images" {
  # checkov:skip=CKV_GCP_84:the image is built from public parts, so Google's own encryption keys are enough
  repository_id = var.name
  description   = "The grader's image"
  location      = var.region
  format        = "DOCKER"

  # A grade names its image; that name must not change its meaning later.
  docker_config {
    immutable_tags = true
  }

  # An image weighs about 10 GB and each is paid for by the month.
  cleanup_policies {
    id     = "keep-newest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 3
    }
  }

  cleanup_policies {
    id     = "delete-older"
    action = "DELETE"
    condition {
      older_than = "30d"
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_artifact_registry_repository_iam_member" "nodes" {
  repository = google_artifact_registry_repository.images.name
  location   = google_artifact_registry_repository.images.location
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.nodes.member
}
