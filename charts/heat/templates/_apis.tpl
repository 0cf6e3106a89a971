{{- define "heat.api" -}}
{{ include "heat.server" (list . "api" "orchestration" "heat" .Values.conf.heat_api_uwsgi .Values.secrets.identity.heat) }}
{{- end }}

{{- define "heat.cfn" -}}
{{ include "heat.server" (list . "cfn" "cloudformation" "heat-cfn" .Values.conf.heat_cfn_uwsgi .Values.secrets.identity.cfn) }}
{{- end }}

{{/*
heat.server (root, component, endpoint, public name, conf of uWSGI, Secret of its user). Its requests go to the engines over
the bus, so it has no access to the database, nor to the key of credentials in it.
*/}}
{{- define "heat.server" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $endpoint := get $root.Values.endpoints (index . 2) -}}
{{- $port := $endpoint.port.api.default -}}
{{- $ini := printf "heat-%s-uwsgi.ini" $component -}}
name: heat-{{ $component }}
component: {{ include "lib.text" $component }}
configmaps: [etc, bin]
ingress: {host: {{ include "lib.text" (index . 3) }}, port: api, uploads: {{ include "lib.uploads" (index . 4) }}}
service:
  name: {{ include "lib.text" $endpoint.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
containers:
  - name: heat-{{ $component }}
    image: heat_{{ $component }}
    command: [uwsgi, --ini, /etc/heat/{{ $ini }}]
    ports:
      - {name: api, containerPort: {{ $port }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # A high limit: all workers may wait for an engine for a minute.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/heat/{{ $ini }}, subPath: {{ $ini }}, readOnly: true}
      {{- include "heat.mounts" $root | nindent 6 }}
volumes:
  {{- include "heat.snippets" (list $root (index . 5) "messaging" "token") | nindent 2 }}
{{- end }}
