package main

import (
	"crypto/tls"
	"net"
	"strings"
)

// find returns the backend of a request: that of the most specific host with a matching path.
func (t *Table) find(host, where string) *backend {
	for _, key := range candidates(host) {
		for _, one := range t.hosts[key] {
			if one.matches(where) {
				return one.backend
			}
		}
	}
	for _, one := range t.hosts[""] {
		if one.matches(where) {
			return one.backend
		}
	}
	return nil
}

// matches compares complete path elements, as the Ingress API requires: /v2 does not match /v2.1.
func (p path) matches(where string) bool {
	if p.exact {
		return where == p.text
	}
	rest, found := strings.CutPrefix(where, p.text)
	return found && (rest == "" || rest[0] == '/')
}

func (t *Table) certificate(host string) *tls.Certificate {
	for _, key := range candidates(host) {
		if found := t.certificates[key]; found != nil {
			return found
		}
	}
	return nil
}

// certificate returns the certificate for a handshake; without one the handshake fails with unrecognized_name.
func (c *Current) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	table := c.table.Load()
	if table == nil {
		return nil, nil
	}
	return table.certificate(hostname(hello.ServerName)), nil
}

func candidates(host string) []string {
	_, parent, found := strings.Cut(host, ".")
	if !found {
		return []string{host}
	}
	return []string{host, "*." + parent}
}

// hostname returns a host without port and trailing dot, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
