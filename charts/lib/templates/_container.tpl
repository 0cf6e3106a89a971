{{/*
lib.container (root, workload, container): completes a container of a workload's description.
  image       a key of images.tags
  resources   a key of pod.resources; default: the component
  probes      {readiness, liveness, startup}, each as in Kubernetes; pod.probes.<component> overrides them
  security    differences from the safe default
All other keys are as in Kubernetes. /tmp is always writable, other folders only if `security` allows it.
If the workload has `drain`, a container with ports continues to serve for lib.drain seconds before its SIGTERM.
*/}}
{{- define "lib.container" -}}
{{- $root := index . 0 }}
{{- $w := index . 1 }}
{{- $c := index . 2 }}
{{- $pod := $root.Values.pod }}
{{- $out := omit $c "image" "resources" "probes" "security" }}
{{- $_ := set $out "image" (include "lib.image" (list $root $c.image)) }}
{{- $_ := set $out "imagePullPolicy" $root.Values.images.pull_policy }}
{{- $resources := deepCopy (dig "resources" ($c.resources | default $w.component) dict $pod) }}
{{- with dig "requests" "cpu" "" $pod }}
{{- $_ := set $resources "requests" (set ($resources.requests | default dict) "cpu" .) }}
{{- end }}
{{- $_ := set $out "resources" $resources }}
{{- $_ := set $out "volumeMounts" (append ($c.volumeMounts | default list) (dict "name" "tmp" "mountPath" "/tmp")) }}
{{- $security := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) }}
{{- $own := dig "security_context" $w.component "container" dict $pod }}
{{- $context := include "lib.overlay" (list $security $c.security $own) | fromYaml }}
{{- $confined := dig "security_context" $w.component "pod" dict $pod }}
{{- if $context.privileged }}
{{- /* The pod's profiles are for its other containers: a privileged one has them only from its own values. */}}
{{- if and $confined.seLinuxOptions (not (hasKey $own "seLinuxOptions")) }}
{{- $_ := set $context "seLinuxOptions" (include "lib.overlay" (list $confined.seLinuxOptions (dict "type" "spc_t")) | fromYaml) }}
{{- end }}
{{- if and $confined.appArmorProfile (not (hasKey $own "appArmorProfile")) }}
{{- $_ := set $context "appArmorProfile" (dict "type" "Unconfined") }}
{{- end }}
{{- end }}
{{- $_ := set $out "securityContext" $context }}
{{- if and $w.drain $c.ports }}
{{- $_ := set $out "lifecycle" (dict "preStop" (dict "sleep" (dict "seconds" (include "lib.drain" . | int)))) }}
{{- end }}
{{- range $kind, $probe := $c.probes }}
{{- $tuned := dig "probes" $w.component $kind dict $pod }}
{{- if dig "enabled" true $tuned }}
{{- $_ := set $out (printf "%sProbe" $kind) (include "lib.overlay" (list $probe $tuned.params) | fromYaml) }}
{{- end }}
{{- end }}
{{- toYaml $out }}
{{- end }}

{{/*
lib.drain: seconds between the deletion of a pod and its SIGTERM. Each node needs a moment to remove the pod from its
Services; a server that closes its port earlier would reset connections that still arrive.
*/}}
{{- define "lib.drain" -}}
10
{{- end }}

{{/* lib.image (root, key): the reference under images.tags. */}}
{{- define "lib.image" -}}
{{- $key := index . 1 -}}
{{- $reference := required (printf "images.tags.%s is needed: the image to run" $key) (get (index . 0).Values.images.tags $key) }}
{{- include "lib.reference" (list (index . 0) $reference) }}
{{- end }}

{{/* lib.reference (root, reference): without a slash, it is below images.registry, which only published charts have. */}}
{{- define "lib.reference" -}}
{{- $registry := get (index . 0).Values.images "registry" -}}
{{- $reference := index . 1 -}}
{{- if and $registry (not (contains "/" $reference)) }}{{ $registry }}/{{ end }}{{ $reference }}
{{- end }}

{{/*
lib.asked (command, seconds, patience): probes by a command, at this interval, and three times as often while the
container starts. Each probe starts a process in the container, which is its main cost for the node, especially while
a whole cloud starts. The time for a start is unlimited, unless `patience` limits it (in seconds).
*/}}
{{- define "lib.asked" -}}
{{- $exec := dict "command" (index . 0) | toJson -}}
{{- $often := div (index . 1) 3 -}}
startup:
  exec: {{ $exec }}
  periodSeconds: {{ $often }}
  timeoutSeconds: 5
  failureThreshold: {{ if gt (len .) 2 }}{{ div (index . 2) $often }}{{ else }}1000000{{ end }}
readiness:
  exec: {{ $exec }}
  periodSeconds: {{ index . 1 }}
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{/* lib.overlay (maps…): merges later maps over earlier ones, one level deep. Unlike with `merge`, false overrides true. */}}
{{- define "lib.overlay" -}}
{{- $out := dict }}
{{- range . }}{{ range $key, $value := . }}{{ $_ := set $out $key $value }}{{ end }}{{ end }}
{{- toYaml $out }}
{{- end }}
