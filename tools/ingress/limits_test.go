package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const host = "keystone.it.just.works"

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// world is an ingress with one host, whose pod counts the requests that hold it.
type world struct {
	*testing.T
	address string
	gate    *gate
	proxy   *Proxy
	held    atomic.Int32
}

func newWorld(t *testing.T, connections int, pace pace, pod http.HandlerFunc) *world {
	made := &world{T: t, gate: newGate(connections)}
	if pod == nil {
		pod = func(w http.ResponseWriter, r *http.Request) {
			sum := sha256.New()
			_, _ = io.Copy(sum, r.Body)
			fmt.Fprintf(w, "%x", sum.Sum(nil))
		}
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made.held.Add(1)
		defer made.held.Add(-1)
		pod(w, r)
	}))
	t.Cleanup(backend.Close)
	current := &Current{}
	to := path{"", false, newBackend("keystone-api.api", backend.Listener.Addr().String())}
	current.table.Store(&Table{hosts: map[string][]path{host: {to}}})
	made.proxy = newProxy(current, "443", time.Second)
	made.proxy.pace = pace
	one := server("", http.HandlerFunc(made.proxy.plain))
	opened, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made.address = opened.Addr().String()
	go func() { _ = serve(one, opened, made.gate) }()
	t.Cleanup(func() { _ = one.Close() })
	return made
}

func newBackend(name string, addresses ...string) *backend {
	return &backend{name: name, addresses: addresses, uploads: 1}
}

func (w *world) dial() net.Conn {
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (w *world) send(conn net.Conn, method string, lines ...string) {
	fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: %s\r\n%s\r\n", method, host, strings.Join(append(lines, ""), "\r\n"))
}

// answer is a status, or 0 if the connection was closed.
func (w *world) answer(conn net.Conn, limit time.Duration) (int, string) {
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if os.IsTimeout(err) {
			return -1, ""
		}
		return 0, ""
	}
	text, _ := io.ReadAll(got.Body)
	return got.StatusCode, string(text)
}

func (w *world) get() int {
	conn := w.dial()
	defer conn.Close()
	w.send(conn, "GET")
	status, _ := w.answer(conn, 2*time.Second)
	return status
}

func (w *world) until(what func() bool) {
	w.Helper()
	for range 200 {
		if what() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Fatal("it did not come about in two seconds")
}

func drip(conn net.Conn, data string, every time.Duration) {
	for {
		if _, err := conn.Write([]byte(data)); err != nil {
			return
		}
		time.Sleep(every)
	}
}

var quick = pace{patience: 300 * time.Millisecond, rate: 1 << 20, stall: time.Minute}

func TestBodiesThatDripReachNoPodAndAreGivenUp(t *testing.T) {
	w := newWorld(t, 1024, quick, nil)
	var slow []net.Conn
	for range 64 {
		conn := w.dial()
		w.send(conn, "POST", "Content-Length: 100000")
		go drip(conn, " ", 10*time.Millisecond)
		slow = append(slow, conn)
	}
	if status := w.get(); status != http.StatusOK {
		t.Errorf("GET: %d", status)
	}
	if held := w.held.Load(); held != 0 {
		t.Errorf("%d requests hold the pod", held)
	}
	for _, conn := range slow {
		if status, _ := w.answer(conn, 2*time.Second); status != http.StatusRequestTimeout {
			t.Fatalf("POST: %d", status)
		}
	}
}

func TestAShortBodyArrivesAsItWasSent(t *testing.T) {
	w := newWorld(t, 1024, clients, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %v %s", r.ContentLength, r.TransferEncoding, text)
	})
	conn := w.dial()
	for _, sent := range []struct{ header, body, wanted string }{
		{"Content-Length: 2", "ab", "2 [] ab"},
		{"Transfer-Encoding: chunked", "1\r\na\r\n1\r\nb\r\n0\r\n\r\n", "2 [] ab"},
		{"Content-Length: 0", "", "0 [] "},
	} {
		w.send(conn, "POST", sent.header)
		_, _ = io.WriteString(conn, sent.body)
		if status, text := w.answer(conn, time.Second); status != 200 || text != sent.wanted {
			t.Errorf("%s: %d %q", sent.header, status, text)
		}
	}
}

func TestALongBodyArrivesAsItWasSent(t *testing.T) {
	w := newWorld(t, 1024, clients, nil)
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	wanted := fmt.Sprintf("%x", sha256.Sum256(data))
	for _, from := range []io.Reader{bytes.NewReader(data), io.NopCloser(bytes.NewReader(data))} { // the latter in chunks
		request, _ := http.NewRequest("PUT", "http://"+w.address+"/", from)
		request.Host = host
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(got.Body)
		if string(text) != wanted {
			t.Errorf("%d %s", got.StatusCode, text)
		}
	}
}

func TestAPodTakesOneLongBodyAtATimeAndServesOthersMeanwhile(t *testing.T) {
	w := newWorld(t, 1024, clients, nil)
	var conns []net.Conn
	for range 8 {
		conn := w.dial()
		w.send(conn, "PUT", "Content-Length: 200000")
		_, _ = conn.Write(make([]byte, 199_999))
		conns = append(conns, conn)
	}
	w.until(func() bool { return w.held.Load() == 1 })
	time.Sleep(50 * time.Millisecond)
	if held := w.held.Load(); held != 1 {
		t.Errorf("%d long bodies hold the pod", held)
	}
	if status := w.get(); status != http.StatusOK {
		t.Errorf("GET: %d", status)
	}
	for _, conn := range conns {
		_, _ = conn.Write([]byte{0})
	}
	for _, conn := range conns {
		if status, _ := w.answer(conn, 5*time.Second); status != http.StatusOK {
			t.Errorf("PUT: %d", status)
		}
	}
	if len(w.proxy.uploads.busy) != 0 {
		t.Error(w.proxy.uploads.busy)
	}
}

func TestALongBodyThatDripsIsGivenUp(t *testing.T) {
	w := newWorld(t, 1024, quick, nil)
	conn := w.dial()
	w.send(conn, "PUT", "Content-Length: 1000000")
	go drip(conn, " ", 10*time.Millisecond)
	if status, _ := w.answer(conn, 2*time.Second); status != http.StatusRequestTimeout {
		t.Errorf("PUT: %d", status)
	}
	w.until(func() bool { return w.held.Load() == 0 })
}

func TestALongBodyHasNoLimitInTimeAsAWholeNorForASlowPod(t *testing.T) {
	pace := pace{patience: time.Second, rate: 64 << 10, stall: time.Minute}
	w := newWorld(t, 1024, pace, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * pace.patience)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	conn := w.dial()
	w.send(conn, "PUT", "Content-Length: 4194304")
	begun := time.Now()
	for range 16 {
		_, _ = conn.Write(make([]byte, 256<<10))
		time.Sleep(pace.patience / 5)
	}
	if status, _ := w.answer(conn, 10*time.Second); status != http.StatusOK || time.Since(begun) < 3*pace.patience {
		t.Errorf("PUT: %d after %s", status, time.Since(begun))
	}
}

func TestAnAnswerHasNoLimitInTimeWhileItsClientReadsIt(t *testing.T) {
	pace := pace{patience: time.Second, rate: 1 << 20, stall: 200 * time.Millisecond}
	w := newWorld(t, 1024, pace, func(w http.ResponseWriter, r *http.Request) {
		for range 8 {
			time.Sleep(pace.stall / 2)
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
		time.Sleep(2 * pace.stall)
		_, _ = w.Write([]byte("y"))
	})
	conn := w.dial()
	for range 2 {
		w.send(conn, "GET")
		if status, text := w.answer(conn, 5*time.Second); status != 200 || text != "xxxxxxxxy" {
			t.Errorf("%d %q", status, text)
		}
	}
}

func TestAClientThatTakesNoAnswerHoldsNoPod(t *testing.T) {
	pace := pace{patience: time.Second, rate: 1 << 20, stall: 200 * time.Millisecond}
	w := newWorld(t, 1024, pace, func(w http.ResponseWriter, r *http.Request) {
		for range 1024 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	w.send(w.dial(), "GET")
	w.until(func() bool { return w.held.Load() == 1 })
	w.until(func() bool { return w.held.Load() == 0 })
}

func TestOfTooManyConnectionsTheOneThatWaitedLongestIsClosed(t *testing.T) {
	w := newWorld(t, 16, clients, nil) // 8 of one address, 4 of them without a complete request
	var kept []net.Conn
	for range 8 {
		conn := w.dial()
		w.send(conn, "GET")
		if status, _ := w.answer(conn, time.Second); status != http.StatusOK {
			t.Fatal(status)
		}
		kept = append(kept, conn)
	}
	if status := w.get(); status != http.StatusOK {
		t.Errorf("a new connection: %d", status)
	}
	for i, conn := range kept {
		w.send(conn, "GET")
		wanted := http.StatusOK
		if i == 0 {
			wanted = 0
		}
		if status, _ := w.answer(conn, time.Second); status != wanted {
			t.Errorf("connection %d: %d", i, status)
		}
	}
}

func TestOfConnectionsWithoutARequestTheOldestIsClosed(t *testing.T) {
	w := newWorld(t, 16, clients, nil)
	var conns []net.Conn
	for range 5 {
		conns = append(conns, w.dial())
		w.until(func() bool {
			w.gate.mutex.Lock()
			defer w.gate.mutex.Unlock()
			return len(w.gate.open) == min(len(conns), 4)
		})
	}
	if status, _ := w.answer(conns[0], time.Second); status != 0 {
		t.Error(status)
	}
	w.send(conns[1], "GET")
	if status, _ := w.answer(conns[1], time.Second); status != http.StatusOK {
		t.Error(status)
	}
}

func TestAConnectionThatIsClosedWhileItWaitsForAPodTakesNoPlace(t *testing.T) {
	w := newWorld(t, 16, clients, nil)
	first, second := w.dial(), w.dial()
	w.send(first, "PUT", "Content-Length: 200000")
	w.until(func() bool { return w.held.Load() == 1 })
	w.send(second, "PUT", "Content-Length: 200000")
	w.wait(1, isWaiting)
	w.gate.mutex.Lock()
	w.gate.drop(isWaiting)
	w.gate.mutex.Unlock()
	if status, _ := w.answer(second, time.Second); status != 0 {
		t.Error(status)
	}
	_ = first.Close()
	w.until(func() bool { return w.held.Load() == 0 })
	time.Sleep(50 * time.Millisecond)
	if held := w.held.Load(); held != 0 || len(w.proxy.uploads.busy) != 0 {
		t.Error(held, w.proxy.uploads.busy)
	}
}

func TestAConsoleIsLeftAloneHoweverLongItIsSilent(t *testing.T) {
	w := newWorld(t, 16, quick, func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(conn, conn)
	})
	conn := w.dial()
	w.send(conn, "GET", "Upgrade: websocket", "Connection: Upgrade")
	if status, _ := w.answer(conn, time.Second); status != http.StatusSwitchingProtocols {
		t.Fatal(status)
	}
	for range 20 {
		w.dial()
	}
	time.Sleep(3 * quick.patience)
	_, _ = io.WriteString(conn, "hello")
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	if got, err := io.ReadAll(io.LimitReader(conn, 5)); string(got) != "hello" {
		t.Error(string(got), err)
	}
	_ = conn.Close()
	w.until(func() bool { w.gate.mutex.Lock(); defer w.gate.mutex.Unlock(); return len(w.gate.open) <= 4 })
}

func TestVeryManyHeadersAreRefused(t *testing.T) {
	w := newWorld(t, 16, clients, nil)
	conn := w.dial()
	w.send(conn, "GET", strings.Repeat("a: b\r\n", 100)+"a: b")
	if status, _ := w.answer(conn, time.Second); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(status)
	}
}

func TestNoHTTP2IsOffered(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	one := server("", http.NotFoundHandler())
	one.TLSConfig = &tls.Config{Certificates: pair.TLS.Certificates}
	opened, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() { _ = serve(one, opened, newGate(16)) }()
	defer one.Close()
	conn, err := tls.Dial("tcp", opened.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Error(got)
	}
}

func TestAnUploadGoesToThePodWithTheFewestAndWaitsWhenAllAreFull(t *testing.T) {
	u := newUploads()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	took := map[string]int{}
	for range 4 {
		address, err := u.take(ctx, []string{"a", "b"}, 2)
		if err != nil {
			t.Fatal(err)
		}
		took[address]++
	}
	if took["a"] != 2 || took["b"] != 2 {
		t.Error(took)
	}
	if _, err := u.take(ctx, []string{"a", "b"}, 2); err != errBusy {
		t.Error(err)
	}
	u.release("b")
	if address, _ := u.take(context.Background(), []string{"a", "b"}, 2); address != "b" {
		t.Error(address)
	}
}
