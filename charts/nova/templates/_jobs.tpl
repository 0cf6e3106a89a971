{{- define "nova.db_sync" -}}
name: nova-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: nova_db_sync
    command: [python3, /opt/stackwright/db-sync.py]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" . | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list . "database" "api_database" "messaging") | nindent 2 }}
{{- end }}

{{/* A changed list of hosts changes the pod template, and thereby creates a new Job. */}}
{{- define "nova.host_discovery" -}}
name: nova-host-discovery
component: host-discovery
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
initContainers:
  {{- include "nova.wait_for_schema" . | nindent 2 }}
containers:
  - name: host-discovery
    image: nova
    command: [python3, /opt/stackwright/discover-hosts.py]
    args: {{ .Values.conf.hosts | sortAlpha | toJson }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" . | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list . "database" "api_database" "messaging") | nindent 2 }}
{{- end }}
