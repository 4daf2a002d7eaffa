variable "project_id" {
  description = "Project that holds everything; best a project of its own, so that its bill is the course's bill."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "project_id is the project's ID (6 to 30 of a-z, 0-9 and -), not its name or number."
  }
}

variable "billing_account" {
  description = "Billing account that pays for the project, as in `gcloud billing accounts list`; the budget alert lives there."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", var.billing_account))
    error_message = "billing_account looks like 012345-6789AB-CDEF01."
  }
}

variable "authorized_networks" {
  description = "Who may talk to the cluster's control plane: a label and an address range each, for example { home = \"203.0.113.7/32\" }."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.authorized_networks) > 0
    error_message = "authorized_networks needs at least one range, or nobody can run kubectl."
  }

  validation {
    condition     = alltrue([for range in values(var.authorized_networks) : can(cidrnetmask(range))])
    error_message = "authorized_networks holds IPv4 ranges such as 203.0.113.7/32."
  }

  validation {
    condition = alltrue([
      for range in values(var.authorized_networks) : try(tonumber(split("/", range)[1]) >= 16, false)
    ])
    error_message = "authorized_networks may not hold a range wider than /16: that would open the control plane to strangers."
  }
}

variable "name" {
  description = "Prefix of everything that is created."
  type        = string
  default     = "attention-lab"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "name has 3 to 20 of a-z, 0-9 and -, starts with a letter and does not end with -."
  }
}

variable "region" {
  description = "Region of the network, the registry and the bucket."
  type        = string
  default     = "us-central1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region looks like us-central1."
  }
}

variable "zone" {
  description = "Zone of the cluster and its GPUs; README.md says how to find one that has them."
  type        = string
  default     = "us-central1-a"
  nullable    = false

  validation {
    condition     = can(regex("^${var.region}-[a-z]$", var.zone))
    error_message = "zone must lie in region ${var.region}, for example ${var.region}-a."
  }
}

variable "gpu_pools" {
  description = <<-EOT
    GPU node pools by name. Each scales from zero to max_nodes machines, so an unused pool costs nothing.
    `spot` machines cost less and can be taken away at any moment.
  EOT
  type = map(object({
    gpu          = string
    machine_type = string
    spot         = optional(bool, false)
    max_nodes    = optional(number, 1)
  }))
  default  = { l4 = { gpu = "nvidia-l4", machine_type = "g2-standard-24" } }
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.gpu_pools) : can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", name))])
    error_message = "gpu_pools: a pool's name has 2 to 20 of a-z, 0-9 and -."
  }

  validation {
    condition     = !contains(keys(var.gpu_pools), "system")
    error_message = "gpu_pools: the name \"system\" is taken by the pool without GPUs."
  }

  validation {
    condition     = alltrue([for pool in values(var.gpu_pools) : contains(keys(local.gpus_per_machine), pool.gpu)])
    error_message = "gpu_pools: gpu is one of ${join(", ", keys(local.gpus_per_machine))}."
  }

  validation {
    condition = alltrue([
      for pool in values(var.gpu_pools) :
      try(contains(keys(local.gpus_per_machine[pool.gpu]), pool.machine_type), true) # true: no such GPU, see above
    ])
    error_message = "gpu_pools: machine_type does not offer that gpu; locals.tf lists the machines of each."
  }

  validation {
    condition = alltrue([
      for pool in values(var.gpu_pools) : pool.spot || !contains(local.spot_only_machines, pool.machine_type)
    ])
    error_message = "gpu_pools: ${join(", ", local.spot_only_machines)} exist as spot machines only; set spot = true."
  }

  validation {
    condition = alltrue([
      for pool in values(var.gpu_pools) :
      pool.max_nodes >= 1 && pool.max_nodes <= 20 && floor(pool.max_nodes) == pool.max_nodes
    ])
    error_message = "gpu_pools: max_nodes is a whole number from 1 to 20."
  }
}

variable "system_nodes" {
  description = "Machines without a GPU that run the cluster's own pods, day and night."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.system_nodes >= 1 && var.system_nodes <= 3 && floor(var.system_nodes) == var.system_nodes
    error_message = "system_nodes is 1, 2 or 3."
  }
}

variable "namespace" {
  description = "Kubernetes namespace of the workloads; the one in deploy/base unless an overlay changes it."
  type        = string
  default     = "attention-lab"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace has 1 to 63 of a-z, 0-9 and -."
  }

  validation {
    condition     = !contains(["default", "kube-system", "kube-public", "kube-node-lease"], var.namespace)
    error_message = "namespace must be one of its own: a grader never shares the cluster's namespaces."
  }
}

variable "ip_ranges" {
  description = "Private address ranges of nodes, pods, services and the control plane (a /28)."
  type = object({
    nodes         = optional(string, "10.10.0.0/24")
    pods          = optional(string, "10.20.0.0/16")
    services      = optional(string, "10.30.0.0/20")
    control_plane = optional(string, "172.16.0.0/28")
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for range in values(var.ip_ranges) : can(cidrnetmask(range))])
    error_message = "ip_ranges holds IPv4 ranges such as 10.10.0.0/24."
  }

  validation {
    condition     = endswith(var.ip_ranges.control_plane, "/28")
    error_message = "ip_ranges.control_plane must be a /28."
  }

  # Two ranges overlap where the shorter of their prefixes makes one network of both.
  validation {
    condition = alltrue(flatten([
      for name, range in var.ip_ranges : [
        for other_name, other in var.ip_ranges : name == other_name || try(
          cidrhost("${split("/", range)[0]}/${min(split("/", range)[1], split("/", other)[1])}", 0)
          != cidrhost("${split("/", other)[0]}/${min(split("/", range)[1], split("/", other)[1])}", 0),
          true # not a range, see above
        )
      ]
    ]))
    error_message = "ip_ranges must not overlap."
  }
}

variable "budget_amount" {
  description = "Monthly budget in the billing account's currency; an alert is mailed at 50, 90 and 100 percent."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.budget_amount >= 1 && floor(var.budget_amount) == var.budget_amount
    error_message = "budget_amount is a whole number of at least 1."
  }
}

variable "keep_days" {
  description = "Days after which submissions and reports are deleted from the bucket."
  type        = number
  default     = 180
  nullable    = false

  validation {
    condition     = var.keep_days >= 1 && floor(var.keep_days) == var.keep_days
    error_message = "keep_days is a whole number of at least 1."
  }
}

variable "deletion_protection" {
  description = "Refuse to destroy the cluster. Off by default: a pod that is easy to remove costs less."
  type        = bool
  default     = false
  nullable    = false
}
