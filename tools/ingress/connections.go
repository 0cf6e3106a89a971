package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// gate bounds the connections of all listeners together, and so the memory that they take. A connection carries one
// request at a time. If there are too many, the one that has waited for its client the longest is closed; if a pod has
// the requests of all, the new one is.
type gate struct {
	total  int // of all clients
	client int // of one address, behind which there may be many users
	asking int // without a complete request

	mutex   sync.Mutex
	open    map[*connection]struct{}
	clients map[netip.Prefix]int
}

type state int

const (
	asking  state = iota // the request, or a body that no pod has yet, is not complete
	idle                 // between two requests
	serving              // a pod has the request, or it is a console
)

func newGate(total int) *gate {
	return &gate{
		total: total, client: total / 2, asking: total / 4,
		open: map[*connection]struct{}{}, clients: map[netip.Prefix]int{},
	}
}

type connection struct {
	net.Conn
	gate  *gate
	from  netip.Prefix
	state state
	since time.Time
	gone  context.Context
	end   context.CancelFunc
}

type connectionKey struct{}

// listener lets in what the gate lets in.
type listener struct {
	net.Listener
	gate *gate
}

func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if entered := l.gate.enter(conn); entered != nil {
			return entered, nil
		}
		_ = conn.Close()
	}
}

// enter returns nil if there is no room.
func (g *gate) enter(conn net.Conn) *connection {
	c := &connection{Conn: conn, gate: g, from: client(conn), since: time.Now()}
	c.gone, c.end = context.WithCancel(context.Background())
	g.mutex.Lock()
	defer g.mutex.Unlock()
	of := func(o *connection) bool { return o.state != serving && o.from == c.from }
	any := func(o *connection) bool { return o.state != serving }
	if g.clients[c.from] >= g.client && !g.drop(of) || len(g.open) >= g.total && !g.drop(any) {
		return nil
	}
	g.open[c] = struct{}{}
	g.clients[c.from]++
	g.bound()
	return c
}

// set tells what a connection waits for.
func (g *gate) set(c *connection, to state) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if c.state != to {
		c.state, c.since = to, time.Now()
		g.bound()
	}
}

func (g *gate) bound() {
	count := 0
	for c := range g.open {
		if c.state == asking {
			count++
		}
	}
	if count > g.asking {
		g.drop(func(c *connection) bool { return c.state == asking })
	}
}

// drop closes the connection that has waited the longest.
func (g *gate) drop(match func(*connection) bool) bool {
	var oldest *connection
	for c := range g.open {
		if match(c) && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	g.leave(oldest)
	_ = oldest.Conn.Close()
	return true
}

func (g *gate) leave(c *connection) {
	if _, found := g.open[c]; found {
		delete(g.open, c)
		if g.clients[c.from]--; g.clients[c.from] == 0 {
			delete(g.clients, c.from)
		}
		c.end()
	}
}

func (c *connection) Close() error {
	c.gate.mutex.Lock()
	c.gate.leave(c)
	c.gate.mutex.Unlock()
	return c.Conn.Close()
}

// client is an address; of IPv6 the network, for a client has all of it.
func client(conn net.Conn) netip.Prefix {
	where, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := where.Addr().Unmap().WithZone("")
	prefix, _ := address.Prefix(min(64, address.BitLen()))
	return prefix
}

// connectionOf what the server calls a connection.
func connectionOf(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return conn.(*connection)
}

// watch has a server tell its gate of the connections: a request's context ends with its connection.
func watch(one *http.Server) {
	one.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		c := connectionOf(conn)
		ctx, cancel := context.WithCancel(context.WithValue(ctx, connectionKey{}, c))
		context.AfterFunc(c.gone, cancel)
		return ctx
	}
	one.ConnState = func(conn net.Conn, state http.ConnState) {
		c := connectionOf(conn)
		switch state {
		case http.StateActive:
			c.gate.set(c, asking)
		case http.StateIdle:
			c.gate.set(c, idle)
		}
	}
}
