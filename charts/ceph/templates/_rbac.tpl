{{/* ceph.rbac (root, component, rules): the component's rights in its namespace. RBAC cannot limit `create` to a name. */}}
{{- define "ceph.rbac" -}}
{{- $root := index . 0 -}}
{{- $name := printf "ceph-%s" (index . 1) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "lib.metadata" (list $root (index . 1) $name) | nindent 2 }}
rules:
  {{- toYaml (index . 2) | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "lib.metadata" (list $root (index . 1) $name) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "lib.text" $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "lib.text" $name }}
    namespace: {{ include "lib.text" $root.Release.Namespace }}
{{- end }}
