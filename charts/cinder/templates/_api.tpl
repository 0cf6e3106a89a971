{{- define "cinder.api" -}}
{{- $port := .Values.endpoints.volume.port.api.default -}}
name: cinder-api
component: api
configmaps: [etc, bin]
ingress: {host: cinder, port: api, uploads: {{ include "lib.uploads" .Values.conf.cinder_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.volume.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
initContainers:
  {{- include "cinder.wait" (list . "cinder_api" "locks") | nindent 2 }}
containers:
  - name: cinder-api
    image: cinder_api
    command: [uwsgi, --ini, /etc/cinder/cinder-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ $port }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # A high limit: all workers may wait for a back end for a minute.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/cinder/cinder-api-uwsgi.ini, subPath: cinder-api-uwsgi.ini, readOnly: true}
      - {name: state, mountPath: /var/lib/cinder}
      {{- include "cinder.mounts" (list . "locks") | nindent 6 }}
volumes:
  - name: state
    emptyDir: {}
  {{- include "cinder.volumes" (list . "locks") | nindent 2 }}
  {{- include "cinder.snippets" (list . "database" "messaging" "notifications" "token" "auth") | nindent 2 }}
{{- end }}
