# What a plan holds for someone who fills in only what has no default.

mock_provider "google" {}

variables {
  project_id          = "my-attention-lab"
  billing_account     = "012345-6789AB-CDEF01"
  authorized_networks = { home = "203.0.113.7/32" }
}

run "two_l4_from_zero" {
  command = plan

  assert {
    condition     = keys(google_container_node_pool.gpu) == ["l4"]
    error_message = "one GPU pool is planned"
  }

  assert {
    condition     = google_container_node_pool.gpu["l4"].node_config[0].guest_accelerator[0].count == 2
    error_message = "its machines have two L4 each"
  }

  assert {
    condition = (
      google_container_node_pool.gpu["l4"].initial_node_count == 0
      && google_container_node_pool.gpu["l4"].autoscaling[0].min_node_count == 0
    )
    error_message = "it starts from zero and returns to zero"
  }

  assert {
    condition     = [for block in google_container_cluster.this.master_authorized_networks_config[0].cidr_blocks : block.cidr_block] == ["203.0.113.7/32"]
    error_message = "the control plane listens to the named network only"
  }
}

run "h100_for_fp8" {
  command = plan

  variables {
    gpu_pools = {
      l4   = { gpu = "nvidia-l4", machine_type = "g2-standard-24" }
      h100 = { gpu = "nvidia-h100-80gb", machine_type = "a3-highgpu-1g", spot = true, max_nodes = 2 }
    }
  }

  assert {
    condition     = google_container_node_pool.gpu["h100"].node_config[0].guest_accelerator[0].type == "nvidia-h100-80gb"
    error_message = "the second pool has a Hopper GPU"
  }

  assert {
    condition     = google_container_node_pool.gpu["h100"].node_config[0].guest_accelerator[0].count == 1
    error_message = "a3-highgpu-1g has one GPU"
  }

  assert {
    condition     = google_container_node_pool.gpu["h100"].node_config[0].spot && !google_container_node_pool.gpu["l4"].node_config[0].spot
    error_message = "spot is a pool's own choice"
  }
}

run "outputs" {
  command = apply # of the mock: it creates nothing

  assert {
    condition     = output.get_credentials_command == "gcloud container clusters get-credentials attention-lab --location us-central1-a --project my-attention-lab"
    error_message = "get_credentials_command can be pasted"
  }

  assert {
    condition     = startswith(output.image, "us-central1-docker.pkg.dev/my-attention-lab/")
    error_message = "image names the project's registry"
  }
}
