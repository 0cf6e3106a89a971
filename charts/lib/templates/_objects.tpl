{{/* The small objects around a workload. */}}

{{/* lib.service_account (root, workload) */}}
{{- define "lib.service_account" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}

{{/*
lib.service (root, workload, service): service is {name, ports, headless, selector}; of another type than ClusterIP also
{type, externalTrafficPolicy, loadBalancerIP}.
A headless Service includes pods that are not ready, because members use it to find each other.
*/}}
{{- define "lib.service" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- $s := index . 2 -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "lib.metadata" (list $root $w.component $s.name) | nindent 2 }}
spec:
  {{- if $s.headless }}
  clusterIP: None
  publishNotReadyAddresses: {{ $s.notReady | default false }}
  {{- else }}
  type: {{ include "lib.text" ($s.type | default "ClusterIP") }}
  {{- end }}
  {{- with $s.externalTrafficPolicy }}
  externalTrafficPolicy: {{ include "lib.text" . }}
  {{- end }}
  {{- with $s.loadBalancerIP }}
  loadBalancerIP: {{ include "lib.text" . }}
  {{- end }}
  selector:
    {{- include "lib.selector" (list $root $w.component) | nindent 4 }}
    {{- with $s.selector }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $s.ports }}
  ports:
    {{- range . }}
    - name: {{ include "lib.text" .name }}
      port: {{ .port }}
      targetPort: {{ include "lib.text" (.targetPort | default .name) }}
      protocol: {{ include "lib.text" (.protocol | default "TCP") }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* lib.pdb (root, workload): limits how many pods node drains evict at the same time. Unhealthy pods never block a drain. */}}
{{- define "lib.pdb" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
spec:
  maxUnavailable: {{ dig "lifecycle" "disruption_budget" $w.component "max_unavailable" 1 $root.Values.pod | toJson }}
  unhealthyPodEvictionPolicy: {{ include "lib.text" ($w.unhealthyPodEvictionPolicy | default "AlwaysAllow") }}
  selector:
    matchLabels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
{{- end }}

{{/*
lib.claim (root, workload): the volumeClaimTemplate of a StatefulSet, from the values volume.{class_name,size}. It is
immutable, so an existing StatefulSet keeps both, because other values would make each upgrade fail. The operator enlarges
the claims one by one (controllers/service/volumes.py).
*/}}
{{- define "lib.claim" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- $class := $root.Values.volume.class_name -}}
{{- $size := $root.Values.volume.size -}}
{{- $there := lookup "apps/v1" "StatefulSet" $root.Release.Namespace $w.name -}}
{{- range dig "spec" "volumeClaimTemplates" list $there }}
{{- if eq .metadata.name $w.claim }}{{ $class = .spec.storageClassName }}{{ $size = .spec.resources.requests.storage }}{{ end }}
{{- end -}}
- metadata:
    name: {{ include "lib.text" $w.claim }}
    labels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with $class }}
    storageClassName: {{ include "lib.text" . }}
    {{- end }}
    resources:
      requests:
        storage: {{ include "lib.text" $size }}
{{- end }}

{{/*
lib.uploads (conf of uWSGI): half of the workers, which long request bodies may occupy; the others serve short requests.
*/}}
{{- define "lib.uploads" -}}
{{ max 1 (div (mul (int .uwsgi.processes) (int .uwsgi.threads)) 2) }}
{{- end }}

{{/*
lib.ingress (root, workload): the public name of an API, <ingress.host>.<network.ingress.domain>, with TLS. Empty if
the cloud has no ingress. Its annotation limits the long request bodies that our ingress controller sends to a pod.
*/}}
{{- define "lib.ingress" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- $i := dig "ingress" dict ($root.Values.network | default dict) -}}
{{- if and $w.ingress $i.enabled (dig (printf "ingress_%s" (replace "-" "_" $w.component)) true $root.Values.manifests) -}}
{{- $host := printf "%s.%s" $w.ingress.host $i.domain -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
  {{- $annotations := $i.annotations | default dict }}
  {{- with $w.ingress.uploads }}
  {{- $annotations = merge (deepCopy $annotations) (dict "stackwright.dev/uploads" (toString .)) }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  ingressClassName: {{ include "lib.text" $i.class_name }}
  tls:
    - hosts: [{{ include "lib.text" $host }}]
      secretName: {{ include "lib.text" $i.tls_secret }}
  rules:
    - host: {{ include "lib.text" $host }}
      http:
        paths:
          - path: {{ include "lib.text" ($w.ingress.path | default "/") }}
            pathType: Prefix
            backend:
              service:
                name: {{ include "lib.text" $w.service.name }}
                port:
                  name: {{ include "lib.text" $w.ingress.port }}
{{- end }}
{{- end }}

{{/*
lib.network_policy (root, workload): the connections that a component's pods accept (network.policies.<component>) and open
(network.egress.<component>), rules in Kubernetes' form. A component without an entry in policies accepts all connections, one
with an empty list none; likewise in egress.
*/}}
{{- define "lib.network_policy" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- $policies := dig "policies" dict ($root.Values.network | default dict) -}}
{{- if hasKey $policies $w.component -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "lib.metadata" (list $root $w.component $w.name) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "lib.selector" (list $root $w.component) | nindent 6 }}
  {{- $egress := dig "egress" dict ($root.Values.network | default dict) }}
  policyTypes: [Ingress{{ if hasKey $egress $w.component }}, Egress{{ end }}]
  ingress:
    {{- toYaml (get $policies $w.component) | nindent 4 }}
  {{- if hasKey $egress $w.component }}
  egress:
    {{- toYaml (get $egress $w.component) | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* lib.optional (root, enabled, API): whether objects of an API are made; with `auto`, if the cluster has it. Else empty. */}}
{{- define "lib.optional" -}}
{{- $enabled := toString (index . 1) }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") ((index . 0).Capabilities.APIVersions.Has (index . 2))) }}true{{ end }}
{{- end }}
