{{- define "designate.central" -}}
{{ include "designate.process" (list . "central" "locks") }}
{{- end }}

{{- define "designate.producer" -}}
{{ include "designate.process" (list . "producer" "locks") }}
{{- end }}

{{/* It keeps the pool that it read first, so it starts when the Job has written this release's. */}}
{{- define "designate.worker" -}}
{{ include "designate.process" (list . "worker" "pool") }}
{{- end }}

{{/* The primary of the name servers, which get zones from it by transfers. */}}
{{- define "designate.mdns" -}}
{{- $port := .Values.endpoints.mdns.port.dns.default -}}
service:
  name: {{ include "lib.text" .Values.endpoints.mdns.hosts.default }}
  ports:
    - {name: dns-udp, port: {{ $port }}, protocol: UDP}
    - {name: dns-tcp, port: {{ $port }}}
{{ include "designate.process" (list . "mdns" "dns") }}
{{- end }}

{{/*
designate.process (root, component, parts…): a process is ready while connected to the message bus; with the part `dns`, while it answers.
There is no liveness probe: only the connection can be tested cheaply, and an unavailable bus is no reason to restart.
*/}}
{{- define "designate.process" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $parts := slice . 2 -}}
name: designate-{{ $component }}
component: {{ include "lib.text" $component }}
configmaps: [etc, bin]
initContainers:
  - name: wait
    image: designate_{{ $component }}
    command: {{ concat (list "python3" "/opt/stackwright/wait.py") $parts | toJson }}
    volumeMounts:
      {{- include "designate.mounts" $root | nindent 6 }}
      {{- if has "locks" $parts }}{{ include "designate.locks_mount" $root | nindent 6 }}{{ end }}
      {{- if has "pool" $parts }}{{ include "designate.key_mount" . | nindent 6 }}{{ end }}
containers:
  - name: designate-{{ $component }}
    image: designate_{{ $component }}
    command: [python3, -P, /opt/stackwright/process.py, {{ include "lib.text" $component }}]
    {{- if has "dns" $parts }}
    {{- $port := $root.Values.endpoints.mdns.port.dns.default }}
    ports:
      - {name: dns-udp, containerPort: {{ $port }}, protocol: UDP}
      - {name: dns-tcp, containerPort: {{ $port }}}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/answers.sh" (toString $port)) 15) | nindent 6 }}
    {{- else }}
    probes:
      {{- $port := toString $root.Values.endpoints.oslo_messaging.port.amqp.default }}
      {{- include "lib.asked" (list (list "/opt/stackwright/connected.sh" $port) 15) | nindent 6 }}
    {{- end }}
    volumeMounts:
      {{- include "designate.mounts" $root | nindent 6 }}
      {{- if has "locks" $parts }}{{ include "designate.locks_mount" $root | nindent 6 }}{{ end }}
volumes:
  {{- include "designate.snippets" (list $root "database" "messaging") | nindent 2 }}
  {{- if has "locks" $parts }}{{ include "designate.locks" $root | nindent 2 }}{{ end }}
  {{- if has "pool" $parts }}{{ include "designate.key" $root | nindent 2 }}{{ end }}
{{- end }}
