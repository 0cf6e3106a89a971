{{- define "barbican.api" -}}
{{- $port := .Values.endpoints.key_manager.port.api.default -}}
name: barbican-api
component: api
configmaps: [etc, bin]
ingress: {host: barbican, port: api, uploads: {{ include "lib.uploads" .Values.conf.barbican_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.key_manager.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
containers:
  - name: barbican-api
    image: barbican_api
    command: [uwsgi, --ini, /etc/barbican/barbican-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ $port }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # Starts late, because app.py waits for its tables; a high limit, because all workers may wait for Vault.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 180
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/barbican/barbican-api-uwsgi.ini, subPath: barbican-api-uwsgi.ini, readOnly: true}
      {{- include "barbican.mounts" . | nindent 6 }}
      {{- include "barbican.store_mounts" . | nindent 6 }}
volumes:
  {{- include "barbican.snippets" (list . "database" "messaging" "token" "overrides") | nindent 2 }}
  {{- include "barbican.stores" . | nindent 2 }}
{{- end }}
