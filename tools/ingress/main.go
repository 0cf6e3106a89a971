// The ingress of a cloud: it takes the Ingress objects of one class in one
// namespace, and proxies HTTP, HTTPS and WebSockets to the pods behind them.
//
//	watch.go   watches Ingresses, Services, EndpointSlices and Secrets
//	table.go   builds an immutable table of hosts, paths and certificates from them
//	lookup.go  finds the backend and the certificate of a host and path
//	proxy.go   proxies requests by the latest table
//
// Protection of the ingress and of pods against clients:
//
//	connections.go  limits connections per client and requests per backend
//	body.go         reads short request bodies completely, and enforces a minimum rate
//	uploads.go      limits concurrent long bodies per pod
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type options struct {
	class, namespace, kubeconfig string
	secrets                      string
	http, https, health, port    string
	dialTimeout, drain           time.Duration
	connections                  int
}

func flags() options {
	var o options
	flag.StringVar(&o.class, "class", "openstack-ingress", "spec.ingressClassName of the Ingresses to serve")
	flag.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the Ingresses and all they name")
	flag.StringVar(&o.secrets, "tls-secrets", "", "the Secrets that may be used for TLS, separated by commas")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach Kubernetes; the pod's own way if empty")
	flag.StringVar(&o.http, "http", ":8080", "address for HTTP")
	flag.StringVar(&o.https, "https", ":8443", "address for HTTPS")
	flag.StringVar(&o.port, "https-port", "443", "port of HTTPS as clients know it, for redirects")
	flag.StringVar(&o.health, "health", ":10254", "address of /readyz and /livez")
	flag.DurationVar(&o.dialTimeout, "dial-timeout", 3*time.Second, "wait for one pod to take a connection")
	flag.DurationVar(&o.drain, "drain", 25*time.Second, "at the end, wait for requests under way")
	flag.IntVar(&o.connections, "connections", 1024, "connections of clients; see connections.go for shares")
	flag.Parse()
	return o
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flags()); err != nil {
		slog.Error("ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.namespace == "" {
		return errors.New("-namespace is needed, or POD_NAMESPACE")
	}
	current := &Current{}
	watch, err := newWatch(o.kubeconfig, o.namespace, o.class, names(o.secrets), current)
	if err != nil {
		return err
	}
	proxy := newProxy(current, o.port, o.dialTimeout)
	servers := []*http.Server{
		server(o.health, health(ctx, current)),
		server(o.http, http.HandlerFunc(proxy.plain)),
		server(o.https, http.HandlerFunc(proxy.secure)),
	}
	servers[2].TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: current.certificate}
	public := newGate(o.connections)
	gates := []*gate{newGate(64), public, public}
	failed := make(chan error, len(servers))
	for i, one := range servers {
		// Opened here, so that a port in use ends the program before it reports that it is ready.
		opened, err := net.Listen("tcp", one.Addr)
		if err != nil {
			return err
		}
		go func() { failed <- serve(one, opened, gates[i]) }()
	}
	go watch.run(ctx)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return drain(servers, o.drain)
}

// server limits neither the size nor the total time of a body, because images are large and consoles stay open for hours.
// HTTP/2 is disabled: with one request per connection, the number of connections limits the memory.
func server(address string, handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Addr:              address,
		Handler:           handler,
		Protocols:         protocols,
		ReadHeaderTimeout: 30 * time.Second,
		WriteTimeout:      clients.stall, // extended with each part of a response
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

func serve(one *http.Server, opened net.Listener, gate *gate) error {
	watch(one)
	if one.TLSConfig != nil {
		return one.ServeTLS(listener{opened, gate}, "", "")
	}
	return one.Serve(listener{opened, gate})
}

// health is ready once all objects were listed, until the shutdown begins.
func health(ctx context.Context, current *Current) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ctx.Err() != nil || current.table.Load() == nil {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func drain(servers []*http.Server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, one := range servers[1:] {
		if err := one.Shutdown(ctx); err != nil {
			_ = one.Close()
		}
	}
	return servers[0].Close()
}

func names(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
