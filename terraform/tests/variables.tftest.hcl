# Every validation block: what it accepts, and one value that it alone must refuse.

mock_provider "google" {}

variables {
  project_id          = "my-attention-lab"
  billing_account     = "012345-6789AB-CDEF01"
  authorized_networks = { home = "203.0.113.7/32" }
}

run "accepts_another_region_and_every_option" {
  command = plan

  variables {
    authorized_networks = { home = "203.0.113.7/32", campus = "198.18.0.0/16" }
    name                = "class-2"
    region              = "europe-west4"
    zone                = "europe-west4-b"
    gpu_pools = {
      l4     = { gpu = "nvidia-l4", machine_type = "g2-standard-48", spot = true, max_nodes = 20 }
      hopper = { gpu = "nvidia-h100-80gb", machine_type = "a3-highgpu-8g" }
    }
    system_nodes  = 3
    namespace     = "class-2"
    ip_ranges     = { nodes = "10.1.0.0/22", control_plane = "172.16.1.16/28" }
    budget_amount = 1
    keep_days     = 1
  }
}

run "accepts_no_gpu_pool" {
  command = plan
  variables {
    gpu_pools = {}
  }
}

run "refuses_project_id_is_a_number" {
  command = plan
  variables {
    project_id = "123456789012"
  }
  expect_failures = [var.project_id]
}

run "refuses_billing_account_is_a_name" {
  command = plan
  variables {
    billing_account = "My Billing Account"
  }
  expect_failures = [var.billing_account]
}

run "refuses_authorized_networks_is_empty" {
  command = plan
  variables {
    authorized_networks = {}
  }
  expect_failures = [var.authorized_networks]
}

run "refuses_authorized_networks_is_not_a_range" {
  command = plan
  variables {
    authorized_networks = { home = "my-laptop/32" }
  }
  expect_failures = [var.authorized_networks]
}

run "refuses_authorized_networks_is_everyone" {
  command = plan
  variables {
    authorized_networks = { all = "0.0.0.0/0" }
  }
  expect_failures = [var.authorized_networks]
}

run "refuses_name_has_capitals" {
  command = plan
  variables {
    name = "AttentionLab"
  }
  expect_failures = [var.name]
}

run "refuses_region_is_a_zone" {
  command = plan
  variables {
    region = "us-central1-a"
  }
  expect_failures = [var.region]
}

run "refuses_zone_of_another_region" {
  command = plan
  variables {
    zone = "europe-west4-a"
  }
  expect_failures = [var.zone]
}

run "refuses_zone_is_a_region" {
  command = plan
  variables {
    zone = "us-central1"
  }
  expect_failures = [var.zone]
}

run "refuses_pool_name_has_capitals" {
  command = plan
  variables {
    gpu_pools = { L4 = { gpu = "nvidia-l4", machine_type = "g2-standard-24" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_pool_name_is_taken" {
  command = plan
  variables {
    gpu_pools = { system = { gpu = "nvidia-l4", machine_type = "g2-standard-24" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_gpu_is_unknown" {
  command = plan
  variables {
    gpu_pools = { t4 = { gpu = "nvidia-tesla-t4", machine_type = "g2-standard-24" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_machine_has_another_gpu" {
  command = plan
  variables {
    gpu_pools = { h100 = { gpu = "nvidia-h100-80gb", machine_type = "g2-standard-24" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_machine_has_no_gpu" {
  command = plan
  variables {
    gpu_pools = { l4 = { gpu = "nvidia-l4", machine_type = "e2-standard-2" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_small_h100_on_demand" {
  command = plan
  variables {
    gpu_pools = { h100 = { gpu = "nvidia-h100-80gb", machine_type = "a3-highgpu-1g" } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_pool_without_machines" {
  command = plan
  variables {
    gpu_pools = { l4 = { gpu = "nvidia-l4", machine_type = "g2-standard-24", max_nodes = 0 } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_pool_with_half_a_machine" {
  command = plan
  variables {
    gpu_pools = { l4 = { gpu = "nvidia-l4", machine_type = "g2-standard-24", max_nodes = 1.5 } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_pool_too_large" {
  command = plan
  variables {
    gpu_pools = { l4 = { gpu = "nvidia-l4", machine_type = "g2-standard-24", max_nodes = 21 } }
  }
  expect_failures = [var.gpu_pools]
}

run "refuses_no_system_node" {
  command = plan
  variables {
    system_nodes = 0
  }
  expect_failures = [var.system_nodes]
}

run "refuses_too_many_system_nodes" {
  command = plan
  variables {
    system_nodes = 4
  }
  expect_failures = [var.system_nodes]
}

run "refuses_namespace_has_capitals" {
  command = plan
  variables {
    namespace = "Class"
  }
  expect_failures = [var.namespace]
}

run "refuses_namespace_of_the_cluster" {
  command = plan
  variables {
    namespace = "kube-system"
  }
  expect_failures = [var.namespace]
}

run "refuses_ip_range_is_a_word" {
  command = plan
  variables {
    ip_ranges = { pods = "large" }
  }
  expect_failures = [var.ip_ranges]
}

run "refuses_control_plane_is_not_28" {
  command = plan
  variables {
    ip_ranges = { control_plane = "172.16.0.0/24" }
  }
  expect_failures = [var.ip_ranges]
}

run "refuses_pods_that_hold_the_nodes" {
  command = plan
  variables {
    ip_ranges = { nodes = "10.20.255.0/24" }
  }
  expect_failures = [var.ip_ranges]
}

run "refuses_equal_ranges" {
  command = plan
  variables {
    ip_ranges = { nodes = "172.16.0.0/28" }
  }
  expect_failures = [var.ip_ranges]
}

run "refuses_services_written_by_an_address_within_the_pods" {
  command = plan
  variables {
    ip_ranges = { pods = "10.16.0.7/12", services = "10.31.255.0/24" }
  }
  expect_failures = [var.ip_ranges]
}

run "accepts_neighbouring_ranges" {
  command = plan
  variables {
    ip_ranges = { nodes = "10.0.0.0/24", pods = "10.1.0.0/16", services = "10.0.1.0/24", control_plane = "10.0.2.0/28" }
  }
}

run "refuses_budget_of_nothing" {
  command = plan
  variables {
    budget_amount = 0
  }
  expect_failures = [var.budget_amount]
}

run "refuses_budget_with_cents" {
  command = plan
  variables {
    budget_amount = 10.5
  }
  expect_failures = [var.budget_amount]
}

run "refuses_keeps_nothing" {
  command = plan
  variables {
    keep_days = 0
  }
  expect_failures = [var.keep_days]
}
