terraform {
  # 1.9 is the first release whose validation blocks may look at other variables.
  required_version = ">= 1.9, < 2.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "6.50.0"
    }
  }
}

provider "google" {
  project = var.project_id
  region  = var.region
  zone    = var.zone

  # The budget API bills its calls to a project; without these it refuses a user's own credentials.
  billing_project       = var.project_id
  user_project_override = true

  default_labels = local.labels
}
