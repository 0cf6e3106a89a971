package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
)

// objects is the input of a table.
type objects struct {
	class     string
	ingresses []*networking.Ingress
	services  []*core.Service
	slices    []*discovery.EndpointSlice
	secrets   []*core.Secret
}

// Table is immutable, so that a request uses one consistent state.
type Table struct {
	hosts        map[string][]path // "" is every host, "*.x" every host one label below x
	certificates map[string]*tls.Certificate
	problems     map[string]bool
}

type path struct {
	text    string
	exact   bool
	backend *backend
}

// backend is one port of one Service.
type backend struct {
	name      string
	addresses []string
	uploads   int // long bodies that each pod takes at a time
	next      atomic.Uint32
}

// uploadsAnnotation of an Ingress contains the number of uploads per pod; default 1.
const uploadsAnnotation = "stackwright.dev/uploads"

// Current is the latest table; nil until all objects were listed.
type Current struct{ table atomic.Pointer[Table] }

type builder struct {
	objects
	*Table
	byName   map[string]*core.Service
	bySecret map[string]*tls.Certificate
	backends map[string]*backend
}

func build(found objects) *Table {
	b := &builder{
		objects:  found,
		Table:    &Table{map[string][]path{}, map[string]*tls.Certificate{}, map[string]bool{}},
		byName:   map[string]*core.Service{},
		bySecret: map[string]*tls.Certificate{},
		backends: map[string]*backend{},
	}
	for _, service := range found.services {
		b.byName[service.Name] = service
	}
	for _, secret := range found.secrets {
		pair, err := tls.X509KeyPair(secret.Data[core.TLSCertKey], secret.Data[core.TLSPrivateKeyKey])
		if err != nil {
			b.problem("Secret %s: %v", secret.Name, err)
			continue
		}
		b.bySecret[secret.Name] = &pair
	}
	// The oldest Ingress gets a host and path that several Ingresses request.
	slices.SortFunc(found.ingresses, func(x, y *networking.Ingress) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
	for _, ingress := range found.ingresses {
		if ingress.Spec.IngressClassName != nil && *ingress.Spec.IngressClassName == found.class {
			b.ingress(ingress)
		}
	}
	for _, paths := range b.hosts {
		// Longest path first, then exact before prefix. Stable, so that older Ingresses precede younger ones.
		slices.SortStableFunc(paths, func(x, y path) int {
			if x.exact != y.exact && len(x.text) == len(y.text) {
				return map[bool]int{true: -1, false: 1}[x.exact]
			}
			return cmp.Compare(len(y.text), len(x.text))
		})
	}
	return b.Table
}

func (b *builder) problem(format string, values ...any) {
	b.problems[fmt.Sprintf(format, values...)] = true
}

func (b *builder) ingress(ingress *networking.Ingress) {
	var hosts []string
	for _, rule := range ingress.Spec.Rules {
		host := strings.ToLower(rule.Host)
		hosts = append(hosts, host)
		if rule.HTTP == nil {
			continue
		}
		for _, one := range rule.HTTP.Paths {
			exact := one.PathType != nil && *one.PathType == networking.PathTypeExact
			b.route(ingress, host, one.Path, exact, &one.Backend)
		}
	}
	if ingress.Spec.DefaultBackend != nil {
		b.route(ingress, "", "/", false, ingress.Spec.DefaultBackend)
	}
	for _, entry := range ingress.Spec.TLS {
		certificate := b.bySecret[entry.SecretName]
		if certificate == nil {
			b.problem("Ingress %s: no certificate in a Secret %q that may be read", ingress.Name, entry.SecretName)
			continue
		}
		named := entry.Hosts
		if len(named) == 0 {
			named = hosts
		}
		for _, host := range named {
			host = strings.ToLower(host)
			if b.certificates[host] == nil {
				b.certificates[host] = certificate
			}
		}
	}
}

func (b *builder) route(ingress *networking.Ingress, host, text string, exact bool, to *networking.IngressBackend) {
	if to.Service == nil {
		b.problem("Ingress %s: only a Service can be a backend", ingress.Name)
		return
	}
	if !exact {
		text = strings.TrimSuffix(text, "/")
	}
	b.hosts[host] = append(b.hosts[host], path{text, exact, b.backend(ingress, to.Service)})
}

// backend returns the backend of a Service. Without pods it has no addresses, which leads to status 503 instead of 404.
func (b *builder) backend(ingress *networking.Ingress, to *networking.IngressServiceBackend) *backend {
	name := to.Name + "." + cmp.Or(to.Port.Name, strconv.Itoa(int(to.Port.Number)))
	if known := b.backends[name]; known != nil {
		return known
	}
	made := &backend{name: name, uploads: 1}
	if given, err := strconv.Atoi(ingress.Annotations[uploadsAnnotation]); err == nil && given > 0 {
		made.uploads = given
	}
	made.next.Store(rand.Uint32())
	b.backends[name] = made
	service := b.byName[to.Name]
	if service == nil {
		b.problem("Ingress %s: there is no Service %s", ingress.Name, to.Name)
		return made
	}
	for _, port := range service.Spec.Ports {
		if port.Name == to.Port.Name && to.Port.Name != "" || port.Port == to.Port.Number {
			made.addresses = b.addresses(service.Name, port.Name)
			return made
		}
	}
	b.problem("Ingress %s: Service %s has no such port", ingress.Name, name)
	return made
}

// addresses returns the addresses of ready pods or, if none is ready, of terminating pods that still serve.
func (b *builder) addresses(service, port string) []string {
	var ready, ending []string
	for _, slice := range b.slices {
		if slice.Labels[discovery.LabelServiceName] != service {
			continue
		}
		number := portOf(slice, port)
		if number == "" {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			is := endpoint.Conditions
			for _, address := range endpoint.Addresses {
				if is.Ready == nil || *is.Ready {
					ready = append(ready, net.JoinHostPort(address, number))
				} else if is.Serving != nil && *is.Serving {
					ending = append(ending, net.JoinHostPort(address, number))
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	slices.Sort(ready)
	return slices.Compact(ready)
}

func portOf(slice *discovery.EndpointSlice, name string) string {
	for _, port := range slice.Ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return strconv.Itoa(int(*port.Port))
		}
	}
	return ""
}
