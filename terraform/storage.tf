# For submissions and reports. Nothing in deploy/ uses it yet: a collector of the operator's own may (identity.tf).
resource "google_storage_bucket" "class" {
  # checkov:skip=CKV_GCP_62:access logs would need a second bucket and name every learner once more
  name     = "${var.project_id}-${var.name}"
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # Grades are kept from a careless `destroy`: empty the bucket first, as README.md says.
  force_destroy = false

  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age = var.keep_days
    }
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 7
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_storage_bucket_iam_member" "collector" {
  bucket = google_storage_bucket.class.name
  role   = "roles/storage.objectUser"
  member = local.collector
}
