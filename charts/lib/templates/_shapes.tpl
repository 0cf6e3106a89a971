{{/*
The shapes: each has the arguments (root, template), reads the description of the workload from the template (lib.workload)
and renders all its objects. The values manifests.<object> turn each of them off.
*/}}

{{/* lib.api: Deployment, Service, Ingress, PodDisruptionBudget, ServiceAccount. A deleted pod drains before it ends. */}}
{{- define "lib.api" -}}
{{- $root := index . 0 -}}
{{- $w := set (include "lib.workload" . | fromYaml) "drain" true -}}
{{- $m := $root.Values.manifests -}}
{{- include "lib.deployment" (list $root $w) }}
{{- if dig (printf "service_%s" (replace "-" "_" $w.component)) true $m }}
---
{{ include "lib.service" (list $root $w $w.service) }}
{{- end }}
{{- with include "lib.ingress" (list $root $w) }}
---
{{ . }}
{{- end }}
{{- with include "lib.network_policy" (list $root $w) }}
---
{{ . }}
{{- end }}
{{- if dig (printf "pdb_%s" (replace "-" "_" $w.component)) true $m }}
---
{{ include "lib.pdb" (list $root $w) }}
{{- end }}
{{- end }}

{{/* lib.worker: Deployment, PodDisruptionBudget, ServiceAccount: a process without a Service. */}}
{{- define "lib.worker" -}}
{{- $root := index . 0 -}}
{{- $w := include "lib.workload" . | fromYaml -}}
{{- include "lib.deployment" (list $root $w) }}
{{- with include "lib.network_policy" (list $root $w) }}
---
{{ . }}
{{- end }}
{{- if dig (printf "pdb_%s" (replace "-" "_" $w.component)) true $root.Values.manifests }}
---
{{ include "lib.pdb" (list $root $w) }}
{{- end }}
{{- end }}

{{/* lib.deployment (root, workload). A new pod is ready before an old one ends, unless the workload has another strategy. */}}
{{- define "lib.deployment" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- if dig (printf "deployment_%s" (replace "-" "_" $w.component)) true $root.Values.manifests -}}
{{ include "lib.service_account" . }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
spec:
  replicas: {{ dig "replicas" $w.component 1 $root.Values.pod }}
  revisionHistoryLimit: 3
  strategy:
    {{- toYaml ($w.strategy | default (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" 1 "maxUnavailable" 0))) | nindent 4 }}
  selector:
    matchLabels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
  template:
    {{- include "lib.pod_template" . | nindent 4 }}
{{- end }}
{{- end }}

{{/*
lib.stateful: StatefulSet, its Services (`service`, `headless`), PodDisruptionBudget, ServiceAccount. `claim` names the
volume of the values volume.*; its deletion follows that of the StatefulSet, not that of a replica.
*/}}
{{- define "lib.stateful" -}}
{{- $root := index . 0 -}}
{{- $w := include "lib.workload" . | fromYaml -}}
{{- $m := $root.Values.manifests -}}
{{- if dig (printf "statefulset_%s" (replace "-" "_" $w.component)) true $m -}}
{{ include "lib.service_account" (list $root $w) }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
spec:
  replicas: {{ dig "replicas" $w.component 1 $root.Values.pod }}
  revisionHistoryLimit: 3
  serviceName: {{ include "lib.text" $w.headless.name }}
  podManagementPolicy: {{ include "lib.text" ($w.podManagementPolicy | default "Parallel") }}
  updateStrategy:
    type: RollingUpdate
  {{- if $w.claim }}
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Delete
    whenScaled: Retain
  volumeClaimTemplates:
    {{- include "lib.claim" (list $root $w) | nindent 4 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
  template:
    {{- include "lib.pod_template" (list $root $w) | nindent 4 }}
{{- end }}
{{- if dig (printf "service_%s" (replace "-" "_" $w.component)) true $m }}
---
{{ include "lib.service" (list $root $w (set $w.headless "headless" true)) }}
{{- with $w.service }}
---
{{ include "lib.service" (list $root $w .) }}
{{- end }}
{{- end }}
{{- with include "lib.network_policy" (list $root $w) }}
---
{{ . }}
{{- end }}
{{- if dig (printf "pdb_%s" (replace "-" "_" $w.component)) true $m }}
---
{{ include "lib.pdb" (list $root $w) }}
{{- end }}
{{- end }}

{{/*
lib.agent: DaemonSet and ServiceAccount: one pod on each node that the component's labels select. The values
overrides.<component>.labels."<label>::<value>" create a separate DaemonSet and ConfigMap for the nodes with that label,
rendered from the values with the override merged over them; all other nodes use the common one. A node with several
of the labels uses the first of them by name.
*/}}
{{- define "lib.agent" -}}
{{- $root := index . 0 -}}
{{- $w := include "lib.workload" . | fromYaml -}}
{{- if dig (printf "daemonset_%s" (replace "-" "_" $w.component)) true $root.Values.manifests -}}
{{- $labels := dig $w.component "labels" dict ($root.Values.overrides | default dict) }}
{{ include "lib.service_account" (list $root $w) }}
{{- $others := list }}
{{- range $where := keys $labels | sortAlpha }}
{{- $key := splitList "::" $where | first }}
{{- $value := trimPrefix (printf "%s::" $key) $where }}
{{- $values := mergeOverwrite (deepCopy $root.Values) (get $labels $where) }}
{{- $own := dict "Values" $values "Chart" $root.Chart "Release" $root.Release "Template" $root.Template "Files" $root.Files "Capabilities" $root.Capabilities "Suffix" (sha256sum $where | trunc 8) }}
{{- $mine := append $others (dict "key" $key "operator" "In" "values" (list $value)) }}
---
{{ include "lib.configmap_etc" (list $own (printf "%s.etc" $root.Chart.Name)) }}
---
{{ include "lib.daemonset" (list $own (set (include "lib.workload" (list $own (index $ 1)) | fromYaml) "nodes" $mine)) }}
{{- $others = append $others (dict "key" $key "operator" "NotIn" "values" (list $value)) }}
{{- end }}
---
{{ include "lib.daemonset" (list $root (set $w "nodes" $others)) }}
{{- end }}
{{- end }}

{{/*
lib.daemonset (root, workload): the pods of an agent, whose replacement affects only their node. A tenth of the nodes is
updated at the same time, at least one. Pods of unavailable nodes count, so a limit of one would block all updates while
any node is unavailable.
*/}}
{{- define "lib.daemonset" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  {{- include "lib.metadata" (list $root $w.component (printf "%s%s" $w.name (include "lib.suffix" $root))) | nindent 2 }}
spec:
  revisionHistoryLimit: 3
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 10%
  selector:
    matchLabels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
  template:
    {{- include "lib.pod_template" (list $root $w) | nindent 4 }}
{{- end }}

{{/*
lib.job: a Job that is recreated when its pod template changes. Jobs are immutable, so the name ends with the template's
digest: another image or configuration is another Job, and Helm deletes the old one in the upgrade. No Helm hook: a hook
that waits for pods which wait for the hook would block the installation.
*/}}
{{- define "lib.job" -}}
{{- $root := index . 0 -}}
{{- $w := include "lib.workload" . | fromYaml -}}
{{- if dig (printf "job_%s" (replace "-" "_" $w.component)) true $root.Values.manifests -}}
{{- $template := include "lib.pod_template" (list $root $w) -}}
{{ include "lib.service_account" (list $root $w) }}
---
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "lib.metadata" (list $root $w.component (printf "%s-%s" $w.name ($template | sha256sum | trunc 8))) | nindent 2 }}
spec:
  backoffLimit: {{ $w.backoffLimit | default 1000 }}
  template:
    {{- $template | nindent 4 }}
{{- end }}
{{- end }}

{{/*
lib.cronjob: CronJob, NetworkPolicy, ServiceAccount; nothing without a `schedule`. A run that was missed while the cluster was
unavailable is made up for within a day. Failed pods remain visible, and the next run repeats the work, so attempts are few.
*/}}
{{- define "lib.cronjob" -}}
{{- $root := index . 0 -}}
{{- $w := include "lib.workload" . | fromYaml -}}
{{- if and $w.schedule (dig (printf "cron_job_%s" (replace "-" "_" $w.component)) true $root.Values.manifests) -}}
{{ include "lib.service_account" (list $root $w) }}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
spec:
  schedule: {{ $w.schedule | quote }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 86400
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 1
  jobTemplate:
    metadata:
      {{- /* Without the release's label, which a Job would copy from its pods: a run is not a part of the release. */}}
      labels:
        {{- include "lib.selector" (list $root $w.component) | nindent 8 }}
    spec:
      backoffLimit: {{ $w.backoffLimit | default 2 }}
      template:
        {{- include "lib.pod_template" (list $root (set $w "restartPolicy" "Never")) | nindent 8 }}
{{- with include "lib.network_policy" (list $root $w) }}
---
{{ . }}
{{- end }}
{{- end }}
{{- end }}
