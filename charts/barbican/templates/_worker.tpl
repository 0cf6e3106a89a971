{{/*
The worker processes orders, such as those for keys of volumes. It is ready while connected to the message bus. There is no
liveness probe: only the connection can be tested cheaply, and an unavailable bus is no reason to restart workers.
*/}}
{{- define "barbican.worker" -}}
name: barbican-worker
component: worker
configmaps: [etc, bin]
initContainers:
  - name: wait
    image: barbican_worker
    command: [python3, /opt/stackwright/wait.py]
    volumeMounts:
      {{- include "barbican.mounts" . | nindent 6 }}
containers:
  - name: barbican-worker
    image: barbican_worker
    command: [python3, -P, /opt/stackwright/worker.py]
    probes:
      {{- $port := toString .Values.endpoints.oslo_messaging.port.amqp.default }}
      {{- include "lib.asked" (list (list "/opt/stackwright/connected.sh" $port) 15) | nindent 6 }}
    volumeMounts:
      {{- include "barbican.mounts" . | nindent 6 }}
      {{- include "barbican.store_mounts" . | nindent 6 }}
volumes:
  {{- include "barbican.snippets" (list . "database" "messaging" "overrides") | nindent 2 }}
  {{- include "barbican.stores" . | nindent 2 }}
{{- end }}
