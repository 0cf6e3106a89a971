{{/* The API. Its requests go to central over the bus, so it has no access to the database. */}}
{{- define "designate.api" -}}
{{- $port := .Values.endpoints.dns.port.api.default -}}
name: designate-api
component: api
configmaps: [etc, bin]
ingress: {host: designate, port: api, uploads: {{ include "lib.uploads" .Values.conf.designate_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.dns.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
containers:
  - name: designate-api
    image: designate_api
    command: [uwsgi, --ini, /etc/designate/designate-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ $port }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # A high limit: all workers may wait for central for a minute.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/designate/designate-api-uwsgi.ini, subPath: designate-api-uwsgi.ini, readOnly: true}
      {{- include "designate.mounts" . | nindent 6 }}
volumes:
  {{- include "designate.snippets" (list . "messaging" "token") | nindent 2 }}
{{- end }}
