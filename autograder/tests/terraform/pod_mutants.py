"""Copies of terraform/deploy/ that break a promise: by promise, (file, what is replaced, by what)."""

MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "nothing_is_public": [
        ("deploy/base/limits.yaml", 'services.loadbalancers: "0"', 'services.loadbalancers: "1"'),
        ("deploy/base/limits.yaml", 'services.nodeports: "0"', ""),
        (
            "deploy/base/jupyter.yaml",
            "containerPort: 8888",
            "containerPort: 8888\n              hostPort: 8888",
        ),
        ("deploy/base/network.yaml", "kind: NetworkPolicy", "kind: Ingress"),
        (
            "deploy/base/limits.yaml",
            "apiVersion: v1",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: NodePort}\n---\napiVersion: v1",
        ),
    ],
    "jupyter_listens_to_itself_only": [
        ("deploy/base/jupyter.yaml", "--ip=127.0.0.1", "--ip=0.0.0.0"),
        ("deploy/base/jupyter.yaml", "--no-browser", "--IdentityProvider.token="),
    ],
    "network_is_denied": [
        ("deploy/base/network.yaml", "[Ingress, Egress]", "[Ingress]"),
        ("deploy/base/network.yaml", "[Ingress, Egress]", "[Ingress, Egress]\n  egress: [{}]"),
        ("deploy/base/network.yaml", "[Ingress, Egress]", "[Ingress, Egress]\n  ingress: [{}]"),
        ("deploy/base/network.yaml", "podSelector: {}", "podSelector: {matchLabels: {app: jupyter}}"),
        ("deploy/base/network.yaml", "kind: NetworkPolicy", "kind: Other"),
    ],
    "no_token_is_mounted": [
        (
            "deploy/grader/job.yaml",
            "automountServiceAccountToken: false",
            "automountServiceAccountToken: true",
        ),
        ("deploy/grader/job.yaml", "serviceAccountName: grader", "serviceAccountName: default"),
        ("deploy/grader/job.yaml", "enableServiceLinks: false", ""),
        (
            "deploy/grader/job.yaml",
            "configMap:\n            name: submission",
            "secret: {secretName: submission}",
        ),
        ("deploy/base/accounts.yaml", "automountServiceAccountToken: false", ""),
        ("deploy/base/accounts.yaml", "name: grader", "name: grader\n  annotations: {iam.gke.io/gcp: a}"),
        ("deploy/base/jupyter.yaml", "automountServiceAccountToken: false", ""),
    ],
    "nobody_is_root": [
        ("deploy/grader/job.yaml", "runAsNonRoot: true", "runAsNonRoot: false"),
        ("deploy/grader/job.yaml", "runAsUser: 10001", "runAsUser: 0"),
        ("deploy/base/jupyter.yaml", "runAsGroup: 10001", ""),
        ("deploy/grader/job.yaml", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"),
        ("deploy/grader/job.yaml", "allowPrivilegeEscalation: false", "privileged: true"),
    ],
    "root_file_systems_are_read_only": [
        ("deploy/grader/job.yaml", "readOnlyRootFilesystem: true", ""),
        ("deploy/base/jupyter.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
    ],
    "capabilities_are_dropped": [
        ("deploy/grader/job.yaml", "drop: [ALL]", "drop: [NET_RAW]"),
        ("deploy/base/jupyter.yaml", "drop: [ALL]", "drop: [ALL]\n              add: [SYS_ADMIN]"),
    ],
    "system_calls_are_filtered": [
        ("deploy/grader/job.yaml", "type: RuntimeDefault", "type: Unconfined"),
        (
            "deploy/base/jupyter.yaml",
            "allowPrivilegeEscalation: false",
            "seccompProfile: {type: Unconfined}",
        ),
    ],
    "the_node_stays_out_of_reach": [
        ("deploy/grader/job.yaml", "restartPolicy: Never", "hostNetwork: true"),
        ("deploy/grader/job.yaml", "restartPolicy: Never", "hostPID: true"),
        ("deploy/grader/job.yaml", "configMap:\n            name: submission", "hostPath: {path: /}"),
    ],
    "resources_are_limited": [
        ("deploy/grader/job.yaml", 'cpu: "8"', ""),
        ("deploy/grader/job.yaml", "memory: 32Gi", ""),
        ("deploy/grader/job.yaml", "ephemeral-storage: 8Gi", ""),
        ("deploy/grader/job.yaml", 'nvidia.com/gpu: "1"', ""),
        ("deploy/base/jupyter.yaml", "memory: 64Gi", ""),
        ("deploy/grader/job.yaml", "emptyDir:\n            sizeLimit: 4Gi", "emptyDir: {}"),
    ],
    "a_slip_does_not_fill_the_cluster": [
        ("deploy/base/limits.yaml", '    pods: "20"\n', ""),
        ("deploy/base/limits.yaml", 'requests.nvidia.com/gpu: "8"', 'requests.nvidia.com/gpu: "800"'),
        ("deploy/base/limits.yaml", 'requests.nvidia.com/gpu: "8"', 'requests.nvidia.com/gpu: "1"'),
    ],
    "graders_do_not_feel_their_neighbours": [
        ("deploy/grader/job.yaml", "limits: *resources", 'limits: {cpu: "16"}')
    ],
    "grading_ends": [
        ("deploy/grader/job.yaml", "activeDeadlineSeconds: 21600", ""),
        ("deploy/grader/job.yaml", "activeDeadlineSeconds: 1200", ""),
        ("deploy/grader/job.yaml", "ttlSecondsAfterFinished: 86400", ""),
        ("deploy/grader/job.yaml", "backoffLimit: 0", ""),
        ("deploy/grader/job.yaml", "restartPolicy: Never", "restartPolicy: OnFailure"),
    ],
    "a_machine_taken_away_is_no_failure": [
        ("deploy/grader/job.yaml", "action: Ignore", "action: FailJob"),
        ("deploy/grader/job.yaml", "type: DisruptionTarget", "type: PodReadyToStartContainers"),
        ("deploy/grader/job.yaml", "podFailurePolicy:\n    rules:", "annotations:\n    rules:"),
    ],
    "graders_see_one_submission_and_cannot_change_it": [
        ("deploy/grader/job.yaml", "readOnly: true", "readOnly: false"),
        (
            "deploy/grader/job.yaml",
            "configMap:\n            name: submission",
            "persistentVolumeClaim: {claimName: workspace}",
        ),
        ("deploy/grader/job.yaml", "workingDir: /tmp", "envFrom: [{secretRef: {name: a}}]"),
    ],
    "work_is_kept": [
        ("deploy/base/jupyter.yaml", "storage: 50Gi", "storage: 5Gi"),
        ("deploy/base/jupyter.yaml", "mountPath: /workspace", "mountPath: /work"),
        (
            "deploy/base/jupyter.yaml",
            "persistentVolumeClaim:\n            claimName: workspace",
            "emptyDir: {}",
        ),
        ("deploy/base/jupyter.yaml", "type: Recreate", "type: RollingUpdate"),
    ],
    "doctor_looks_at_the_pod": [
        ("deploy/base/jupyter.yaml", "grade doctor", "true"),
        ("deploy/base/jupyter.yaml", "timeoutSeconds: 240", "timeoutSeconds: 60"),
        ("deploy/base/jupyter.yaml", "command: [python, -c,", "command: [grade doctor,"),
    ],
    "pods_find_their_gpu": [
        ("deploy/grader/job.yaml", "cloud.google.com/gke-accelerator: nvidia-l4", "a: b"),
        ("deploy/base/jupyter.yaml", "key: nvidia.com/gpu", "key: other"),
    ],
    "namespace_is_restricted": [("deploy/base/namespace.yaml", "enforce: restricted", "enforce: baseline")],
    "images_are_named_by_an_overlay": [
        ("deploy/grader/job.yaml", "attention-lab.invalid/grader:unset", "grader:latest")
    ],
}
