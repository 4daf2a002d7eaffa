locals {
  labels = { app = var.name }

  # How many GPUs each machine type brings, by GPU. What is not listed here is refused by `gpu_pools`.
  gpus_per_machine = {
    nvidia-l4 = {
      g2-standard-4  = 1
      g2-standard-8  = 1
      g2-standard-12 = 1
      g2-standard-16 = 1
      g2-standard-24 = 2
      g2-standard-32 = 1
      g2-standard-48 = 4
      g2-standard-96 = 8
    }
    nvidia-h100-80gb = {
      a3-highgpu-1g = 1
      a3-highgpu-2g = 2
      a3-highgpu-4g = 4
      a3-highgpu-8g = 8
    }
  }

  # The small H100 machines are sold from spare capacity only.
  spot_only_machines = ["a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g"]

  workload_pool = "${var.project_id}.svc.id.goog"
}
