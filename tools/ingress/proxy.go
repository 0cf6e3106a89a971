package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxHeaders is the number of header lines of a request: each takes ten times the memory of the shortest line.
const maxHeaders = 100

// maxWait limits how long a long body waits for a free pod.
const maxWait = 5 * time.Minute

// Proxy sends requests to pods. Long bodies pass through in pieces of 32 KiB, whatever their size.
type Proxy struct {
	current *Current
	port    string // of HTTPS, as clients know it
	pace    pace
	dialer  *net.Dialer
	uploads *uploads
	reverse *httputil.ReverseProxy
}

// call is a request with its connection and the one to its pod.
type call struct {
	from *connection
	to   *backend
	pod  net.Conn
	slow atomic.Bool // the client
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func newProxy(current *Current, port string, dialTimeout time.Duration) *Proxy {
	return &Proxy{current, port, clients, dialer(dialTimeout), newUploads(), &httputil.ReverseProxy{
		Rewrite:      rewrite,
		BufferPool:   &buffers{},
		ErrorHandler: fail,
		ModifyResponse: func(got *http.Response) error {
			callOf(got.Request.Context()).from.set(serving)
			return nil
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return callOf(ctx).pod, nil },
			// One connection per request, so that each request uses an available pod and none is lost on a
			// connection that its pod closes concurrently. A POST could not be retried.
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
	}}
}

// unacknowledged is the time after which a pod that acknowledges nothing, or reads nothing, counts as lost: its node may have
// lost its power or its network. Otherwise, an upload would wait for fifteen minutes. A slow pod acknowledges.
const unacknowledged = time.Minute

const userTimeout = 18 // TCP_USER_TIMEOUT of Linux, which the package syscall lacks

func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control: func(_, _ string, raw syscall.RawConn) (err error) {
			failed := raw.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(unacknowledged.Milliseconds()))
			})
			return cmp.Or(failed, err)
		},
	}
}

// dial tries all pods of the backend, round robin. No request has been sent yet, so none is executed twice.
func (p *Proxy) dial(ctx context.Context, to *backend) (net.Conn, error) {
	var failed error
	first := int(to.next.Add(1) % uint32(len(to.addresses)))
	for i := range to.addresses {
		address := to.addresses[(first+i)%len(to.addresses)]
		pod, err := p.dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return pod, nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// dialLong does the same for a long body; it waits until a pod is below its limit.
func (p *Proxy) dialLong(ctx context.Context, to *backend) (pod net.Conn, release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	var failed error
	for left := slices.Clone(to.addresses); len(left) > 0; {
		address, err := p.uploads.take(ctx, left, to.uploads)
		if err != nil {
			return nil, nil, err
		}
		pod, err := p.dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return pod, func() { p.uploads.release(address) }, nil
		}
		p.uploads.release(address)
		failed = errors.Join(failed, err)
		left = slices.DeleteFunc(left, func(one string) bool { return one == address })
	}
	return nil, nil, failed
}

// rewrite replaces forwarding headers of the client by correct ones.
func rewrite(request *httputil.ProxyRequest) {
	to := callOf(request.In.Context()).to
	out := request.Out
	out.URL.Scheme, out.URL.Host = "http", to.name
	out.URL.RawQuery = request.In.URL.RawQuery
	for name := range out.Header {
		if forged(name) {
			delete(out.Header, name)
		}
	}
	// The body is sent at once, because waiting for a server without support of 100-continue takes a second.
	out.Header.Del("Expect")
	request.SetXForwarded()
}

// forged also matches underscores, because CGI and WSGI read X_Forwarded_Proto as X-Forwarded-Proto.
func forged(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	to := callOf(r.Context())
	switch {
	case to.slow.Load(): // its context has ended, too
		refuse(w, http.StatusRequestTimeout)
	case r.Context().Err() != nil:
		w.WriteHeader(http.StatusBadGateway)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable)
	default:
		slog.Warn("backend failed", "backend", to.to.name, "method", r.Method, "path", r.URL.Path, "error", err)
		w.WriteHeader(http.StatusBadGateway)
	}
}

// refuse rejects a request that was not read completely, so its connection cannot be reused.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(status), status)
}

// plain redirects hosts with a certificate to HTTPS. Status 308 keeps the method and the body.
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
	seen := &recorder{ResponseWriter: w, stall: p.pace.stall}
	begun := time.Now()
	name := "-"
	defer func() {
		// Never log the query, which contains the token of a console.
		slog.Info("request", "client", r.RemoteAddr, "method", r.Method, "host", r.Host, "path", r.URL.Path,
			"status", seen.status, "ms", time.Since(begun).Milliseconds(), "backend", name)
	}()
	if lines(r.Header) > maxHeaders {
		refuse(seen, http.StatusRequestHeaderFieldsTooLarge)
		return
	}
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
	p.pass(seen, r, &call{from: r.Context().Value(connectionKey{}).(*connection), to: to})
}

// pass calls a pod once a short body is complete, or once a pod is below its limit of long bodies. A backend with too many
// requests gets no more.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, to *call) {
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, to))
	long, err := receive(w, r, p.pace, &to.slow)
	if to.slow.Load() {
		fail(w, r, err)
		return
	} else if err != nil {
		refuse(w, http.StatusBadRequest)
		return
	}
	next := waiting
	if long && r.ContentLength < 0 { // the beginning of such a body is in memory
		next = asking
	}
	if !to.from.ask(to.to.name, next) {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	if long {
		var release func()
		if to.pod, release, err = p.dialLong(r.Context(), to.to); err == nil {
			defer release()
			to.from.set(serving)
		}
	} else {
		to.pod, err = p.dial(r.Context(), to.to)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	defer to.pod.Close()
	p.reverse.ServeHTTP(w, r)
}

func lines(header http.Header) (count int) {
	for _, values := range header {
		count += len(values)
	}
	return count
}

// recorder records the status of a response. Its deadline is extended as long as the client reads.
type recorder struct {
	http.ResponseWriter
	status int
	stall  time.Duration
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.extend()
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	r.extend()
	return r.ResponseWriter.Write(data)
}

func (r *recorder) extend() {
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.stall))
}

// Hijack is called by the reverse proxy when the protocol is switched; it then writes the response itself.
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
