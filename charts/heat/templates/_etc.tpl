{{- define "heat.etc" -}}
{{- $conf := include "lib.oslo_conf" .Values.conf.heat }}
{{- with .Values.secrets.conf.heat }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
heat.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
heat-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.heat_api_uwsgi "heat.api.openstack.wsgi" "heat.api.openstack.v1") | toJson }}
heat-cfn-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.heat_cfn_uwsgi "heat.api.cfn.wsgi" "heat.api.cfn.v1" "heat.api.aws.ec2token" "heat.common.policy") | toJson }}
{{- end }}

{{/* The files of every process. heat.conf.d is a default directory of oslo.config, read after heat.conf. */}}
{{- define "heat.mounts" -}}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: etc, mountPath: /etc/heat/heat.conf, subPath: heat.conf, readOnly: true}
- {name: etc, mountPath: /etc/heat/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/heat/heat.conf.d, readOnly: true}
{{- end }}

{{/*
heat.snippets (root, Secret of the user, parts…): the volume with the parts of the configuration that are in Secrets. Each
process gets only the parts that it needs. root owns the files; only the group (fsGroup) of the heat user may read them.
*/}}
{{- define "heat.snippets" -}}
{{- $root := index . 0 -}}
{{- $identity := index . 1 -}}
{{- $s := $root.Values.secrets -}}
{{- $parts := dict
      "database" (list $s.oslo_db.heat "database.conf")
      "messaging" (list $s.oslo_messaging.heat "messaging.conf")
      "notifications" (list $s.oslo_messaging.notifications "notifications.conf")
      "token" (list $identity "keystone_authtoken.conf")
      "trustee" (list $identity "trustee.conf")
      "encryption" (list $s.encryption_key "encryption.conf") -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- range slice . 2 }}
      {{- $part := get $parts . }}
      {{- with first $part }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: {{ include "lib.text" (last $part) }}, path: {{ include "lib.text" (last $part) }}}]
      {{- end }}
      {{- end }}
      {{- with $s.conf.heat }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}
