{{/* Parts that the pods of this chart share. */}}

{{/* ceph.monitors (root): names of the monitors, also of their pods and Services. */}}
{{- define "ceph.monitors" -}}
{{- range $i := until (int .Values.pod.replicas.mon) }}{{ if $i }} {{ end }}ceph-mon-{{ $i }}{{ end }}
{{- end }}

{{- define "ceph.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- {name: MONITORS, value: {{ include "lib.text" (include "ceph.monitors" .) }}}
- {name: MONITOR_DOMAIN, value: {{ include "lib.text" (printf "%s.svc.%s" .Release.Namespace .Values.endpoints.cluster_domain_suffix) }}}
{{- end }}

{{- define "ceph.mounts" -}}
- {name: conf, mountPath: /etc/ceph}
- {name: run, mountPath: /run/ceph}
- {name: etc, mountPath: /etc/ceph-chart, readOnly: true}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: admin, mountPath: /run/secrets/ceph-admin, readOnly: true}
{{- end }}

{{- define "ceph.volumes" -}}
- name: conf
  emptyDir: {medium: Memory}
- name: run
  emptyDir: {medium: Memory}
- name: admin
  secret:
    secretName: {{ include "lib.text" .Values.secrets.ceph.admin }}
    defaultMode: 0440
{{- end }}

{{/* ceph.token: the token volume, only for clients of the Kubernetes API, instead of automountServiceAccountToken. */}}
{{- define "ceph.token" -}}
- name: token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}

{{/*
ceph.etc (root): ceph.conf. Options derived from pool.* come first; conf.ceph is merged over them.
*/}}
{{- define "ceph.etc" -}}
{{- $pool := dict "osd_pool_default_size" .Values.pool.size "osd_pool_default_pg_num" .Values.pool.pg_num }}
{{- $conf := mergeOverwrite (dict "global" $pool) (deepCopy .Values.conf.ceph) }}
ceph.conf: {{ include "lib.oslo_conf" $conf | trim | printf "%s\n" | toJson }}
{{- end }}
