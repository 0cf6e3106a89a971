{{/*
lib.container (root, workload, container): a container of a workload's description, completed.
  image       a key of images.tags
  resources   a key of pod.resources, the component's if absent
  probes      {readiness, liveness, startup}, each as in Kubernetes; pod.probes.<component> has the last word
  security    what differs from the safe default
Everything else is written as Kubernetes has it. /tmp is always writable, the rest only if `security` says so.
Where the workload drains, a container with ports goes on serving for lib.drain seconds before it is asked to stop.
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
{{- $_ := set $out "securityContext" (include "lib.overlay" (list $security $c.security $own) | fromYaml) }}
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
lib.drain: seconds between the deletion of a pod and its SIGTERM. Every node needs a moment to take the pod out of its
Services; a server that closes its port sooner resets the connections that still arrive.
*/}}
{{- define "lib.drain" -}}
10
{{- end }}

{{/* lib.image (root, key): the reference under images.tags. */}}
{{- define "lib.image" -}}
{{- $key := index . 1 -}}
{{- required (printf "images.tags.%s is needed: the image to run" $key) (get (index . 0).Values.images.tags $key) }}
{{- end }}

{{/*
lib.asked (command, seconds, patience): probes by a command. Every so many seconds, and three times as often while the
container starts: each question is a process started in the container, which costs the node more than the answer, most
of all while a whole cloud starts. A start may take as long as it likes, unless it is to end after `patience` seconds.
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

{{/* lib.overlay (maps…): later maps over earlier ones, one level deep. Unlike `merge`, a false has its say. */}}
{{- define "lib.overlay" -}}
{{- $out := dict }}
{{- range . }}{{ range $key, $value := . }}{{ $_ := set $out $key $value }}{{ end }}{{ end }}
{{- toYaml $out }}
{{- end }}
