resource "google_container_node_pool" "gpu" {
  for_each = var.gpu_pools

  name               = each.key
  cluster            = google_container_cluster.this.id
  initial_node_count = 0

  autoscaling {
    min_node_count = 0
    max_node_count = each.value.max_nodes
  }

  network_config {
    enable_private_nodes = true
  }

  management {
    auto_repair  = true
    auto_upgrade = true
  }

  # An upgrade takes a machine away before it asks for the next: a spare GPU may not be had.
  upgrade_settings {
    max_surge       = 0
    max_unavailable = 1
  }

  node_config {
    machine_type    = each.value.machine_type
    spot            = each.value.spot
    image_type      = "COS_CONTAINERD"
    disk_type       = "pd-balanced"
    disk_size_gb    = 150 # the image, unpacked, and each grader's scratch space
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"]
    metadata        = { disable-legacy-endpoints = "true" }

    guest_accelerator {
      type  = each.value.gpu
      count = local.gpus_per_machine[each.value.gpu][each.value.machine_type]

      gpu_driver_installation_config {
        gpu_driver_version = "LATEST"
      }
    }

    # Only pods that ask for a GPU may keep this machine alive.
    taint {
      key    = "nvidia.com/gpu"
      value  = "present"
      effect = "NO_SCHEDULE"
    }

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }

    workload_metadata_config {
      mode = "GKE_METADATA"
    }
  }

  # The autoscaler owns the number of machines.
  lifecycle {
    ignore_changes = [initial_node_count]
  }
}
