package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// short is the length of bodies that are read whole before a pod is called. OpenStack's own APIs refuse longer ones
// (112 KiB); images, objects and files are streamed.
const short = 128 << 10

// pace limits how long the ingress waits for a client. Each byte received extends the time.
type pace struct {
	patience time.Duration // without a byte
	rate     int           // bytes per second, on average
	stall    time.Duration // for a client to receive a part of a response
}

var clients = pace{patience: 30 * time.Second, rate: 4 << 10, stall: 2 * time.Minute}

// body is the body of a request. Only time spent waiting for the client counts, not time waiting for a slow pod.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	pace    pace
	left    time.Duration
	slow    *atomic.Bool // set when the client was too slow
}

func (b *body) Read(into []byte) (int, error) {
	begun := time.Now()
	_ = b.control.SetReadDeadline(begun.Add(b.left))
	// For "100 Continue", which is sent at the first read.
	_ = b.control.SetWriteDeadline(begun.Add(b.pace.stall))
	n, err := b.ReadCloser.Read(into)
	earned := time.Duration(n) * time.Second / time.Duration(b.pace.rate)
	b.left = min(b.pace.patience, b.left-time.Since(begun)+earned)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.slow.Store(true)
	}
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// receive reads a short body completely, so that no pod waits for it. It returns whether the body is long; of a long body
// at most the beginning has been read.
func receive(w http.ResponseWriter, r *http.Request, pace pace, slow *atomic.Bool) (long bool, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return false, nil
	}
	from := &body{r.Body, http.NewResponseController(w), pace, pace.patience, slow}
	r.Body = from
	if r.ContentLength > short {
		return true, nil
	}
	head, err := io.ReadAll(io.LimitReader(from, short+1))
	if err != nil {
		return false, err
	}
	if len(head) > short {
		r.Body = joined{io.MultiReader(bytes.NewReader(head), from), from}
		return true, nil
	}
	r.Body = io.NopCloser(&whole{*bytes.NewReader(head)})
	r.ContentLength, r.TransferEncoding = int64(len(head)), nil
	return false, nil
}

// whole is a body in memory. It is freed once sent, because a pod may need long to respond.
type whole struct{ bytes.Reader }

func (w *whole) Read(into []byte) (int, error) {
	n, err := w.Reader.Read(into)
	if w.Len() == 0 {
		w.Reset(nil)
	}
	return n, err
}

type joined struct {
	io.Reader
	io.Closer
}
