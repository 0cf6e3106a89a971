{{/*
lib.workload (root, template): the description of a workload, which a chart writes as YAML in a named template:
  name, component                     of the object and its pods; the ServiceAccount has the same name
  configmaps: [etc, bin]              mounted as volumes of these names, hashed into annotations
  containers, initContainers          see lib.container
  volumes                             further volumes, besides those and tmp
  security                            differences from the safe default of the pod
  token: true                         if its processes use the Kubernetes API
  hostNetwork, hostPID                if its processes use those of the node; names of Services still resolve
  placement                           key of the values `labels`; default: the component
  service, headless, claim, strategy  see the shapes
  schedule                            the schedule of a CronJob; empty: never
  drain: true                         if clients use it through a Service: see lib.drain; the shape lib.api sets it
  ingress: {host, port, path, uploads}  public name below network.ingress.domain, and the port's name; see lib.ingress
*/}}
{{- define "lib.workload" -}}
{{- $text := include (index . 1) (index . 0) }}
{{- $w := $text | fromYaml }}
{{- if $w.Error }}{{ fail (printf "template %s is not YAML: %s" (index . 1) $w.Error) }}{{ end }}
{{- $text }}
{{- end }}

{{/* lib.pod_template (root, workload): labels, annotations and spec of a workload's pods. */}}
{{- define "lib.pod_template" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
metadata:
  labels:
    {{- include "lib.pod_labels" (list $root $w.component) | nindent 4 }}
  {{- with include "lib.annotations" . | trim }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
spec:
  {{- include "lib.pod_spec" . | nindent 2 }}
{{- end }}

{{- define "lib.pod_spec" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- $pod := $root.Values.pod -}}
serviceAccountName: {{ include "lib.text" $w.name }}
{{- /* Only workloads with `token` get a token: a token that is not in the pod cannot be stolen. */}}
automountServiceAccountToken: {{ $w.token | default false }}
enableServiceLinks: false
{{- if $w.hostNetwork }}
hostNetwork: true
dnsPolicy: {{ include "lib.text" ($w.dnsPolicy | default "ClusterFirstWithHostNet") }}
{{- end }}
{{- if $w.hostPID }}
hostPID: true
{{- end }}
{{- with $w.restartPolicy }}
restartPolicy: {{ include "lib.text" . }}
{{- end }}
{{- /* For the loss of a pod of the DNS: retries from one port reach the same pod, so only the next lookup may succeed. */}}
dnsConfig:
  options: [{name: timeout, value: "2"}]
securityContext:
  {{- $safe := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") "fsGroupChangePolicy" "OnRootMismatch" }}
  {{- include "lib.overlay" (list $safe $w.security (dig "security_context" $w.component "pod" dict $pod)) | nindent 2 }}
{{- with $root.Values.images.pull_secrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with get ($root.Values.labels | default dict) ($w.placement | default $w.component) }}
nodeSelector:
  {{ include "lib.text" .node_selector_key }}: {{ .node_selector_value | quote }}
{{- end }}
{{- with dig "tolerations" $root.Chart.Name dict $pod }}
{{- if .enabled }}
tolerations:
  {{- toYaml .tolerations | nindent 2 }}
{{- end }}
{{- end }}
{{- with include "lib.affinity" . }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with dig "priorityClassName" $w.component "" $pod }}
priorityClassName: {{ include "lib.text" . }}
{{- end }}
{{- $drain := ternary (include "lib.drain" . | int) 0 (default false $w.drain) }}
terminationGracePeriodSeconds: {{ dig "lifecycle" "termination_grace_period" $w.component "timeout" 30 $pod | add $drain }}
{{- with $w.initContainers }}
initContainers:
  {{- range . }}
  - {{ include "lib.container" (list $root $w .) | indent 4 | trim }}
  {{- end }}
{{- end }}
containers:
  {{- range $w.containers }}
  - {{ include "lib.container" (list $root $w .) | indent 4 | trim }}
  {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- range $w.configmaps }}
  - name: {{ include "lib.text" . }}
    configMap:
      {{- /* Scripts are the same on all nodes. */}}
      name: {{ if eq . "bin" }}{{ include "lib.name" $root }}-bin{{ else }}{{ include "lib.configmap_name" (list $root .) }}{{ end }}
      defaultMode: {{ ternary 0555 0444 (eq . "bin") }}
  {{- end }}
  {{- with $w.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/*
lib.affinity (root, workload): anti-affinity of the pods of one component, by pod.affinity.anti. If that has no type,
it is required for several pods with their own volumes: a local volume binds its pod to the node permanently, and the
loss of a node with two of three members would lose the majority.
`nodes` of the workload are expressions over the labels of its nodes.
*/}}
{{- define "lib.affinity" -}}
{{- $out := dict }}
{{- $pod := (index . 0).Values.pod }}
{{- $w := index . 1 }}
{{- $anti := dig "affinity" "anti" dict $pod }}
{{- with $w.nodes }}
{{- $terms := list (dict "matchExpressions" .) }}
{{- $_ := set $out "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) }}
{{- end }}
{{- if $anti }}
{{- $must := and (not (empty $w.claim)) (gt (int (dig "replicas" $w.component 1 $pod)) 1) }}
{{- $open := printf "%sDuringSchedulingIgnoredDuringExecution" (ternary "required" "preferred" $must) }}
{{- $type := get $anti.type $w.component | default $anti.type.default | default $open }}
{{- $selector := include "lib.selector" (list (index . 0) $w.component) | fromYaml }}
{{- $term := dict "topologyKey" $anti.topologyKey.default "labelSelector" (dict "matchLabels" $selector) }}
{{- if hasPrefix "preferred" $type }}
{{- $term = dict "weight" (int $anti.weight.default) "podAffinityTerm" $term }}
{{- end }}
{{- $_ := set $out "podAntiAffinity" (dict $type (list $term)) }}
{{- end }}
{{- if $out }}{{ toYaml $out }}{{ end }}
{{- end }}
