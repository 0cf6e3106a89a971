package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// from connects from an address of the loopback network.
func (w *world) from(address string) net.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 2 * time.Second}
	conn, err := dialer.Dial("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hang adds a host whose pod accepts connections, as its kernel does for it, and never answers.
func (w *world) hang(name string) {
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = pod.Close() })
	hosts := map[string][]path{name: {{"", false, newBackend(name, pod.Addr().String())}}}
	for known, paths := range w.proxy.current.table.Load().hosts {
		hosts[known] = paths
	}
	w.proxy.current.table.Store(&Table{hosts: hosts})
}

func ask(conn net.Conn, name string) {
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", name)
}

func (w *world) count(match func(*connection) bool) (count int) {
	w.gate.mutex.Lock()
	defer w.gate.mutex.Unlock()
	for c := range w.gate.open {
		if match(c) {
			count++
		}
	}
	return count
}

func (w *world) wait(number int, match func(*connection) bool) {
	w.Helper()
	w.until(func() bool { return w.count(match) == number })
}

func isWaiting(c *connection) bool { return c.state == waiting }
func isAsking(c *connection) bool  { return c.state == asking }
func isIdle(c *connection) bool    { return c.state == idle }

// closed tells whether the ingress has closed a connection.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	timeout, ok := err.(net.Error)
	return err != nil && !(ok && timeout.Timeout())
}

func TestRequestsToABackendThatHangsLeaveConnectionsToOthers(t *testing.T) {
	w := newWorld(t, 64, clients, nil) // 16 requests to one backend, 32 connections of one address
	w.hang("horizon.x")
	for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
		for range 32 {
			ask(w.from(address), "horizon.x")
		}
	}
	w.wait(12, isWaiting)
	conn := w.from("127.0.0.3")
	w.send(conn, "GET")
	if status, _ := w.answer(conn, time.Second); status != http.StatusOK {
		t.Errorf("another host: %d", status)
	}
	for range 8 { // the first two find a place
		conn = w.from("127.0.0.3")
		ask(conn, "horizon.x")
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !got.Close {
		t.Error(got, err)
	}
	w.wait(14, isWaiting)
}

func TestAnAddressHasNoMoreRequestsAtABackendThanAreLeftForOthers(t *testing.T) {
	w := newWorld(t, 64, clients, nil)
	w.hang("horizon.x")
	for _, step := range []struct {
		address string
		wanted  int
	}{{"127.0.0.1", 8}, {"127.0.0.2", 12}, {"127.0.0.3", 14}} {
		for range 20 {
			ask(w.from(step.address), "horizon.x")
		}
		w.until(func() bool { return w.count(isWaiting) == step.wanted && w.count(isAsking) == 0 })
	}
}

func TestARequestThatHasEndedLeavesItsPlaceAtItsBackend(t *testing.T) {
	w := newWorld(t, 16, clients, nil) // 4 requests to one backend
	for range 3 {
		conn := w.dial()
		for range 6 {
			w.send(conn, "GET")
			if status, _ := w.answer(conn, time.Second); status != http.StatusOK {
				t.Fatal(status)
			}
		}
	}
}

func TestOfTooManyConnectionsOneOfTheAddressWithMostIsClosed(t *testing.T) {
	w := newWorld(t, 16, clients, nil) // 8 of one address, 4 requests to one backend
	for i := range 8 {
		w.hang(fmt.Sprintf("horizon%d.x", i))
	}
	var fair, most []net.Conn
	for i := range 4 {
		fair = append(fair, w.from("127.0.0.3")) // the oldest
		ask(fair[i], fmt.Sprintf("horizon%d.x", i))
		w.wait(i+1, isWaiting)
	}
	for _, each := range []struct {
		address string
		number  int
	}{{"127.0.0.1", 8}, {"127.0.0.2", 4}} {
		for i := range each.number {
			before := w.count(isWaiting)
			conn := w.from(each.address)
			ask(conn, fmt.Sprintf("horizon%d.x", i))
			w.wait(before+1, isWaiting)
			if each.number == 8 {
				most = append(most, conn)
			}
		}
	}
	conn := w.from("127.0.0.4")
	w.send(conn, "GET")
	if status, _ := w.answer(conn, time.Second); status != http.StatusOK {
		t.Errorf("a new connection: %d", status)
	}
	for _, each := range fair {
		if closed(each) {
			t.Error("a connection of an address with few was closed")
		}
	}
	if !closed(most[0]) || closed(most[1]) {
		t.Error("of the address with most, not the oldest was closed")
	}
}

func TestAnIdleConnectionIsClosedBeforeARequestThatAPodHas(t *testing.T) {
	w := newWorld(t, 16, clients, nil)
	w.hang("horizon.x")
	var sent, kept []net.Conn
	for i := range 2 {
		sent = append(sent, w.from("127.0.0.1")) // of an address with most connections
		ask(sent[i], "horizon.x")
		w.wait(i+1, isWaiting)
	}
	keep := func(address string) {
		conn := w.from(address)
		w.send(conn, "GET")
		if status, _ := w.answer(conn, time.Second); status != http.StatusOK {
			t.Fatalf("a connection of %s: %d", address, status)
		}
		kept = append(kept, conn)
	}
	for i, last := range []int{2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14} {
		keep(fmt.Sprintf("127.0.0.%d", last))
		w.wait(i+1, isIdle)
	}
	for i, wanted := range []int{1, 0, 2} { // the older one of the address with two, and then the oldest
		keep(fmt.Sprintf("127.0.0.%d", 15+i))
		if !closed(kept[wanted]) {
			t.Errorf("idle connection %d is open", wanted)
		}
	}
	for _, conn := range sent {
		if closed(conn) {
			t.Error("a request that a pod has was closed")
		}
	}
	w.wait(2, isWaiting)
}

func TestARequestThatAPodHasIsNotClosedForANewConnectionOfItsOwnAddress(t *testing.T) {
	w := newWorld(t, 16, clients, nil)
	var sent []net.Conn
	for i := range 8 {
		name := fmt.Sprintf("horizon%d.x", i)
		w.hang(name)
		sent = append(sent, w.dial())
		ask(sent[i], name)
	}
	w.wait(8, isWaiting)
	if status := w.get(); status != 0 {
		t.Errorf("one more than the address may have: %d", status)
	}
	w.wait(8, isWaiting)
}

func TestOneAddressThatSendsNothingCutsOffNoRequestOfOthers(t *testing.T) {
	w := newWorld(t, 64, clients, nil) // 16 without a complete request
	var uploads []net.Conn
	for range 3 { // the pod takes one at a time; the others wait, and they are the oldest
		conn := w.from("127.0.0.3")
		w.send(conn, "PUT", "Content-Length: 200000")
		uploads = append(uploads, conn)
	}
	chunks := w.from("127.0.0.3") // its beginning is in memory while it waits
	w.send(chunks, "PUT", "Transfer-Encoding: chunked")
	fmt.Fprintf(chunks, "%x\r\n%s\r\n0\r\n\r\n", 200_000, make([]byte, 200_000))
	honest := w.from("127.0.0.3")
	w.send(honest, "POST", "Content-Length: 1000")
	_, _ = honest.Write(make([]byte, 500))
	w.until(func() bool { return w.held.Load() == 1 })
	w.wait(2, isWaiting)
	w.wait(2, isAsking)
	for range 40 {
		w.from("127.0.0.1")
	}
	w.wait(16, isAsking)
	_, _ = honest.Write(make([]byte, 500))
	if status, _ := w.answer(honest, time.Second); status != http.StatusOK {
		t.Errorf("a body that was begun before: %d", status)
	}
	for _, conn := range uploads {
		_, _ = conn.Write(make([]byte, 200_000))
	}
	for _, conn := range append(uploads, chunks) {
		if status, _ := w.answer(conn, 2*time.Second); status != http.StatusOK {
			t.Errorf("an upload that waited: %d", status)
		}
	}
}

func TestAResponseThatHasBegunIsNotClosedForOthers(t *testing.T) {
	end := make(chan struct{})
	w := newWorld(t, 16, clients, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun ")
		_ = http.NewResponseController(w).Flush()
		<-end
		_, _ = io.WriteString(w, "ended")
	})
	finish := sync.OnceFunc(func() { close(end) })
	t.Cleanup(finish)
	begun := w.dial()
	w.send(begun, "GET")
	w.wait(1, func(c *connection) bool { return c.state == serving })
	for range 20 {
		w.dial()
	}
	w.wait(4, isAsking)
	finish()
	if status, text := w.answer(begun, time.Second); status != http.StatusOK || text != "begun ended" {
		t.Errorf("%d %q", status, text)
	}
}
