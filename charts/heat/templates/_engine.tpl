{{/*
The engine is ready while connected to the message bus. There is no liveness probe: only the connection can be tested
cheaply, and an unavailable bus is no reason to restart workers.
*/}}
{{- define "heat.engine" -}}
name: heat-engine
component: engine
configmaps: [etc, bin]
initContainers:
  - name: wait
    image: heat_engine
    command: [python3, /opt/stackwright/wait.py]
    volumeMounts:
      {{- include "heat.mounts" . | nindent 6 }}
containers:
  - name: heat-engine
    image: heat_engine
    command: [python3, -P, /opt/stackwright/engine.py]
    probes:
      {{- $port := toString .Values.endpoints.oslo_messaging.port.amqp.default }}
      {{- include "lib.asked" (list (list "/opt/stackwright/connected.sh" $port) 15) | nindent 6 }}
    volumeMounts:
      {{- include "heat.mounts" . | nindent 6 }}
volumes:
  {{- $parts := list "database" "messaging" "notifications" "token" "trustee" "encryption" }}
  {{- include "heat.snippets" (concat (list . .Values.secrets.identity.heat) $parts) | nindent 2 }}
{{- end }}
