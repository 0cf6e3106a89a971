{{/*
stackwright.processes: the containers and the controllers of each. One process uses less memory; one per controller separates
them, for clouds with many services.
*/}}
{{- define "stackwright.processes" -}}
{{- if eq .Values.controllers.mode "split" }}
{{- range .Values.controllers.names }}
- {name: {{ include "lib.text" . }}, controllers: [{{ include "lib.text" . }}]}
{{- end }}
{{- else }}
- {name: operator, controllers: {{ toJson .Values.controllers.names }}}
{{- end }}
{{- end }}

{{/* stackwright.precaching: how images are pulled to nodes ahead, unless image volumes are mounted; Kubernetes has them since 1.35. */}}
{{- define "stackwright.precaching" -}}
{{- if or (not .Values.images.volumes) (semverCompare "<1.35.0-0" .Capabilities.KubeVersion.Version) }}init
{{- else if not .Values.images.mount_volumes }}unmounted
{{- end }}
{{- end }}

{{/* stackwright.trust: whether the operator writes the CA into the webhook configuration; empty: others do. */}}
{{- define "stackwright.trust" -}}
{{- $source := .Values.webhook.certificate.source }}
{{- if and .Values.webhook.ca_bundle (ne $source "secret") }}
{{- fail "webhook.ca_bundle is for webhook.certificate.source secret only" }}
{{- end }}
{{- if or (eq $source "operator") (and (eq $source "secret") (not .Values.webhook.ca_bundle)) }}true{{ end }}
{{- end }}

{{- define "stackwright.operator" -}}
{{- $mounted := ne .Values.webhook.certificate.source "operator" }}
name: stackwright
component: operator
# The operator is a client of the API server.
token: true
configmaps: [images]
{{- if $mounted }}
volumes:
  - name: webhook-certificate
    secret: {secretName: {{ include "lib.text" .Values.webhook.certificate.secret }}, defaultMode: 0440}
{{- end }}
# The previous pods end first, because versions before the Lease write without it.
strategy: {type: Recreate}
containers:
  {{- range $i, $process := include "stackwright.processes" . | fromYamlArray }}
  {{- $health := add 8080 $i }}
  {{- $metrics := add 9090 $i }}
  {{- $admission := has "osdpl" $process.controllers }}
  - name: {{ include "lib.text" $process.name }}
    image: stackwright
    args:
      - operator
      - {{ include "lib.text" (printf "--controllers=%s" (join "," $process.controllers)) }}
      - --images=/etc/stackwright/images.json
      - --health-port={{ $health }}
      - --metrics-port={{ $metrics }}
      - --lease-lock=/tmp/lease.lock  # /tmp is one volume for all containers
      {{- if $admission }}
      - --webhook-port=9443
      {{- if $mounted }}
      - --webhook-certificate=/etc/stackwright-webhook
      {{- end }}
      {{- if not (include "stackwright.trust" $) }}
      - --no-webhook-trust
      {{- end }}
      {{- end }}
      {{- with $.Values.namespaces }}
      - {{ include "lib.text" (printf "--namespaces=%s" (join "," .)) }}
      {{- end }}
      {{- if $.Values.helmbundles.unrestricted }}
      - --unrestricted-helmbundles
      {{- end }}
    env:
      - name: POD_NAMESPACE
        valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      - name: POD_UID
        valueFrom: {fieldRef: {fieldPath: metadata.uid}}
      - {name: PYTHONUNBUFFERED, value: "1"}
      - {name: HOME, value: /tmp}
      - {name: HELM_CACHE_HOME, value: /tmp/helm/cache}
      - {name: HELM_CONFIG_HOME, value: /tmp/helm/config}
      - {name: HELM_DATA_HOME, value: /tmp/helm/data}
      {{- range $name, $value := $.Values.conf.env }}
      - {name: {{ include "lib.text" $name }}, value: {{ $value | quote }}}
      {{- end }}
    ports:
      - {name: health-{{ $i }}, containerPort: {{ $health }}}
      - {name: metrics-{{ $i }}, containerPort: {{ $metrics }}}
      {{- if $admission }}
      - {name: webhook, containerPort: 9443}
      {{- end }}
    volumeMounts:
      - {name: images, mountPath: /etc/stackwright, readOnly: true}
      {{- if and $mounted $admission }}
      - {name: webhook-certificate, mountPath: /etc/stackwright-webhook, readOnly: true}
      {{- end }}
    probes:
      readiness:
        httpGet: {path: /servingz, port: health-{{ $i }}}
        periodSeconds: 3
        timeoutSeconds: 5
      liveness:
        httpGet: {path: /healthz, port: health-{{ $i }}}
        initialDelaySeconds: 30
        periodSeconds: 30
        timeoutSeconds: 10
        failureThreshold: 10  # five minutes, because an operator that is killed during an upgrade leaves an incomplete release
  {{- end }}
{{- end }}

{{/* stackwright.selected (root): the namespaceSelector of what concerns the managed namespaces only; empty for all. */}}
{{- define "stackwright.selected" -}}
{{- with .Values.namespaces -}}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values:
        {{- range . }}
        - {{ include "lib.text" . }}
        {{- end }}
{{- end }}
{{- end }}
