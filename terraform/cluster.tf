resource "google_container_cluster" "this" {
  # checkov:skip=CKV_GCP_12:Dataplane V2 enforces network policies itself; the add-on that is asked for excludes it
  # checkov:skip=CKV_GCP_65:access is by Google identity; Google Groups need an organisation that a course may lack
  # checkov:skip=CKV_GCP_66:one image, built and pushed by the operator, runs here; a signing chain would guard it from its author
  name                = var.name
  location            = var.zone
  deletion_protection = var.deletion_protection
  resource_labels     = local.labels

  network           = google_compute_network.this.id
  subnetwork        = google_compute_subnetwork.nodes.id
  networking_mode   = "VPC_NATIVE"
  datapath_provider = "ADVANCED_DATAPATH" # Dataplane V2: network policies are enforced

  enable_shielded_nodes       = true
  enable_intranode_visibility = true

  ip_allocation_policy {
    cluster_secondary_range_name  = google_compute_subnetwork.nodes.secondary_ip_range[0].range_name
    services_secondary_range_name = google_compute_subnetwork.nodes.secondary_ip_range[1].range_name
  }

  private_cluster_config {
    enable_private_nodes    = true
    enable_private_endpoint = false # kubectl comes from authorized_networks, without a bastion
    master_ipv4_cidr_block  = var.ip_ranges.control_plane
  }

  master_authorized_networks_config {
    gcp_public_cidrs_access_enabled = false

    dynamic "cidr_blocks" {
      for_each = var.authorized_networks

      content {
        display_name = cidr_blocks.key
        cidr_block   = cidr_blocks.value
      }
    }
  }

  workload_identity_config {
    workload_pool = local.workload_pool
  }

  # No certificate to log in with, so none in the state.
  master_auth {
    client_certificate_config {
      issue_client_certificate = false
    }
  }

  release_channel {
    channel = "REGULAR"
  }

  # An upgrade replaces machines under whoever works on them. It waits for hours that are a weekend's, or a night's,
  # in every time zone; GKE asks for 48 of them in 32 days.
  maintenance_policy {
    recurring_window {
      start_time = "2026-01-03T06:00:00Z"
      end_time   = "2026-01-03T16:00:00Z"
      recurrence = "FREQ=WEEKLY;BYDAY=SA,SU"
    }
  }

  # Without this add-on an Ingress brings up nothing.
  addons_config {
    http_load_balancing {
      disabled = true
    }
  }

  service_external_ips_config {
    enabled = false
  }

  logging_config {
    enable_components = ["SYSTEM_COMPONENTS", "WORKLOADS"]
  }

  monitoring_config {
    enable_components = ["SYSTEM_COMPONENTS"]

    managed_prometheus {
      enabled = false
    }
  }

  # GKE insists on a first pool; it is thrown away at once and replaced by the pools that follow.
  remove_default_node_pool = true
  initial_node_count       = 1

  node_config {
    service_account = google_service_account.nodes.email

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }

    workload_metadata_config {
      mode = "GKE_METADATA"
    }
  }

  lifecycle {
    ignore_changes = [node_config, initial_node_count]
  }

  depends_on = [google_project_iam_member.nodes]
}

resource "google_container_node_pool" "system" {
  name       = "system"
  cluster    = google_container_cluster.this.id
  node_count = var.system_nodes

  network_config {
    enable_private_nodes = true
  }

  management {
    auto_repair  = true
    auto_upgrade = true
  }

  node_config {
    machine_type    = "e2-standard-2"
    image_type      = "COS_CONTAINERD"
    disk_type       = "pd-balanced"
    disk_size_gb    = 50
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"]
    metadata        = { disable-legacy-endpoints = "true" }

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }

    # Pods ask the metadata server of GKE, never that of the machine: the node's identity stays the node's.
    workload_metadata_config {
      mode = "GKE_METADATA"
    }
  }
}
