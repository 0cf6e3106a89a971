package main

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// Proxy sends requests to pods. Bodies pass through in pieces of 32 KiB, whatever their size.
type Proxy struct {
	current *Current
	port    string // of HTTPS, as clients know it
	reverse *httputil.ReverseProxy
}

type backendKey struct{}

func newProxy(current *Current, port string, dialTimeout time.Duration) *Proxy {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &Proxy{current, port, &httputil.ReverseProxy{
		Rewrite:      rewrite,
		BufferPool:   &buffers{},
		ErrorHandler: fail,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dialer) },
			// One connection a request: each finds a pod that is there now, and none is lost on a connection
			// that its pod closes just then. A POST could not be sent again.
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
	}}
}

// dial tries every pod of the backend, beginning with the next in turn: nothing was sent yet, so nothing happens twice.
func dial(ctx context.Context, dialer *net.Dialer) (net.Conn, error) {
	to := ctx.Value(backendKey{}).(*backend)
	var failed error
	first := int(to.next.Add(1) % uint32(len(to.addresses)))
	for i := range to.addresses {
		address := to.addresses[(first+i)%len(to.addresses)]
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection, nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// rewrite: what the client says of itself is replaced by what is so.
func rewrite(request *httputil.ProxyRequest) {
	to := request.In.Context().Value(backendKey{}).(*backend)
	out := request.Out
	out.URL.Scheme, out.URL.Host = "http", to.name
	out.URL.RawQuery = request.In.URL.RawQuery
	for name := range out.Header {
		if forged(name) {
			delete(out.Header, name)
		}
	}
	// The client sends its body at once: a server that knows no 100-continue would hold it up for a second.
	out.Header.Del("Expect")
	request.SetXForwarded()
}

// forged: CGI and WSGI read X_Forwarded_Proto as X-Forwarded-Proto.
func forged(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		to := r.Context().Value(backendKey{}).(*backend)
		slog.Warn("backend failed", "backend", to.name, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	w.WriteHeader(http.StatusBadGateway)
}

// plain: a host with a certificate is served by HTTPS only. 308 keeps the method and the body.
func (p *Proxy) plain(w http.ResponseWriter, r *http.Request) {
	host := hostname(r.Host)
	if table := p.current.table.Load(); table == nil || table.certificate(host) == nil {
		p.secure(w, r)
		return
	}
	if p.port != "443" {
		host = net.JoinHostPort(host, p.port)
	}
	w.Header().Set("Location", "https://"+host+r.URL.RequestURI())
	w.WriteHeader(http.StatusPermanentRedirect)
}

func (p *Proxy) secure(w http.ResponseWriter, r *http.Request) {
	seen := &recorder{ResponseWriter: w}
	begun := time.Now()
	name := "-"
	defer func() {
		// Never the query: consoles have their token there.
		slog.Info("request", "client", r.RemoteAddr, "method", r.Method, "host", r.Host, "path", r.URL.Path,
			"status", seen.status, "ms", time.Since(begun).Milliseconds(), "backend", name)
	}()
	table := p.current.table.Load()
	if table == nil {
		http.Error(seen, "not ready", http.StatusServiceUnavailable)
		return
	}
	to := table.find(hostname(r.Host), r.URL.Path)
	if to == nil {
		http.Error(seen, "no such host or path", http.StatusNotFound)
		return
	}
	name = to.name
	if len(to.addresses) == 0 {
		seen.Header().Set("Retry-After", "1")
		http.Error(seen, "no pod is ready", http.StatusServiceUnavailable)
		return
	}
	p.reverse.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), backendKey{}, to)))
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Hijack: the reverse proxy takes the connection when the protocol is switched, and answers by itself.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.status = http.StatusSwitchingProtocols
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// Unwrap is for flushing.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if found := b.pool.Get(); found != nil {
		return *found.(*[]byte)
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(one []byte) { b.pool.Put(&one) }
