{{- define "ceph-rgw.api" -}}
{{- $port := .Values.endpoints.object_store.port.api.default -}}
name: ceph-rgw-api
component: api
configmaps: [etc, bin]
# A slow request body does not occupy a thread.
ingress: {host: object-store, port: api, uploads: 64}
service:
  name: {{ include "lib.text" .Values.endpoints.object_store.hosts.default }}
  ports:
    - {name: api, port: {{ $port }}}
containers:
  - name: rgw
    image: ceph_rgw
    command: [/opt/stackwright/rgw.sh]
    env:
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      - {name: MONITORS, value: {{ range $i := until (int .Values.monitors) }}{{ if $i }} {{ end }}ceph-mon-{{ $i }}{{ end }}}
      - {name: MONITOR_DOMAIN, value: {{ include "lib.text" (printf "%s.svc.%s" .Release.Namespace .Values.endpoints.cluster_domain_suffix) }}}
      - {name: RGW_PORT, value: {{ $port | quote }}}
    ports:
      - {name: api, containerPort: {{ $port }}}
    probes:
      # This path needs no authentication.
      readiness:
        httpGet: {path: /swift/healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # Starts late: the gateway waits for Ceph, and creates its pools at the first start.
      liveness:
        httpGet: {path: /swift/healthcheck, port: api}
        initialDelaySeconds: 180
        periodSeconds: 15
        timeoutSeconds: 15
        failureThreshold: 5
    volumeMounts:
      - {name: conf, mountPath: /etc/ceph}
      - {name: run, mountPath: /run/ceph}
      - {name: etc, mountPath: /etc/ceph-chart, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: admin, mountPath: /run/secrets/ceph-admin, readOnly: true}
      {{- if .Values.secrets.identity.rgw }}
      - {name: keystone, mountPath: /run/secrets/keystone, readOnly: true}
      {{- end }}
volumes:
  - name: conf
    emptyDir: {medium: Memory}
  - name: run
    emptyDir: {medium: Memory}
  - name: admin
    secret:
      secretName: {{ include "lib.text" .Values.secrets.ceph.admin }}
      defaultMode: 0440
  {{- with .Values.secrets.identity.rgw }}
  - name: keystone
    secret:
      secretName: {{ include "lib.text" . }}
      defaultMode: 0440
  {{- end }}
{{- end }}

{{- define "ceph-rgw.etc" -}}
ceph.conf: {{ include "lib.oslo_conf" .Values.conf.ceph | trim | printf "%s\n" | toJson }}
{{- end }}
