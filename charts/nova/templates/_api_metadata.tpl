{{- define "nova.api_metadata" -}}
{{- $port := .Values.endpoints.compute_metadata.port.metadata.default -}}
name: nova-api-metadata
component: api-metadata
configmaps: [etc, bin]
service:
  name: {{ include "lib.text" .Values.endpoints.compute_metadata.hosts.default }}
  ports:
    - {name: metadata, port: {{ $port }}}
initContainers:
  {{- include "nova.wait_for_schema" . | nindent 2 }}
containers:
  - name: nova-api-metadata
    image: nova
    command: [uwsgi, --ini, /etc/nova/nova-metadata-uwsgi.ini]
    ports:
      - {name: metadata, containerPort: {{ $port }}}
    {{- include "nova.http_probes" "metadata" | nindent 4 }}
    volumeMounts:
      - {name: etc, mountPath: /etc/nova/nova-metadata-uwsgi.ini, subPath: nova-metadata-uwsgi.ini, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" . | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list . "database" "api_database" "messaging" "notifications" "auth" "metadata_proxy") | nindent 2 }}
{{- end }}
