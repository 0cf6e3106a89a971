{{- define "nova.api_osapi" -}}
{{- $port := .Values.endpoints.compute.port.api.default -}}
name: nova-api-osapi
component: api-osapi
configmaps: [etc, bin]
ingress: {host: nova, port: api, uploads: {{ include "lib.uploads" .Values.conf.nova_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.compute.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
initContainers:
  {{- include "nova.wait_for_schema" . | nindent 2 }}
containers:
  - name: nova-api-osapi
    image: nova
    command: [uwsgi, --ini, /etc/nova/nova-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ $port }}}
    {{- include "nova.http_probes" "api" | nindent 4 }}
    volumeMounts:
      - {name: etc, mountPath: /etc/nova/nova-api-uwsgi.ini, subPath: nova-api-uwsgi.ini, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" . | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list . "database" "api_database" "messaging" "notifications" "token" "auth") | nindent 2 }}
{{- end }}

{{/*
nova.http_probes (port): / lists the versions without a token. By HTTP, because uWSGI's master keeps the port open while its
workers crash.
*/}}
{{- define "nova.http_probes" -}}
probes:
  readiness:
    httpGet: {path: /, port: {{ . }}}
    periodSeconds: 3
    timeoutSeconds: 5
    failureThreshold: 3
  # A high limit: all workers may wait for a compute node for a minute.
  liveness:
    httpGet: {path: /, port: {{ . }}}
    initialDelaySeconds: 120
    periodSeconds: 30
    timeoutSeconds: 30
    failureThreshold: 10
{{- end }}
