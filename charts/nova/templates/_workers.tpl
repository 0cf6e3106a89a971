{{- define "nova.conductor" -}}
{{ include "nova.worker" (list . "conductor") }}
{{- end }}

{{- define "nova.scheduler" -}}
{{ include "nova.worker" (list . "scheduler") }}
{{- end }}

{{/*
nova.worker (root, component). It is ready while connected to the message bus. There is no liveness probe: only the
connection can be tested cheaply, and an unavailable bus is no reason to restart workers.
*/}}
{{- define "nova.worker" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
name: nova-{{ $component }}
component: {{ include "lib.text" $component }}
configmaps: [etc, bin]
# Nova identifies services by the names of pods. Stable names make a replaced pod the same service, not another one.
headless: {name: nova-{{ $component }}, ports: []}
initContainers:
  {{- include "nova.wait_for_schema" $root | nindent 2 }}
  {{- if eq $component "scheduler" }}
  {{- include "nova.wait_for_placement" "nova" | nindent 2 }}
  {{- end }}
containers:
  - name: nova-{{ $component }}
    image: nova
    command: [nova-{{ $component }}]
    probes:
      {{- include "nova.connected" $root | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" $root | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list $root "database" "api_database" "messaging" "notifications" "token" "auth") | nindent 2 }}
{{- end }}

{{- define "nova.connected" -}}
{{- $port := toString .Values.endpoints.oslo_messaging.port.amqp.default }}
{{- include "lib.asked" (list (list "/opt/stackwright/connected.sh" $port) 15) }}
{{- end }}
