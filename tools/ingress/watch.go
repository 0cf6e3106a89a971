package main

import (
	"context"
	"log/slog"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// settle is the time in which changes are collected for one new table.
const settle = 100 * time.Millisecond

// Watch caches the objects of a namespace and creates a new table whenever one changes.
type Watch struct {
	class     string
	current   *Current
	changed   chan struct{}
	informers []cache.Controller
	ingresses cache.Store
	services  cache.Store
	slices    cache.Store
	secrets   []cache.Store
}

func newWatch(kubeconfig, namespace, class string, secrets []string, current *Current) (*Watch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	w := &Watch{class: class, current: current, changed: make(chan struct{}, 1)}
	for _, one := range []struct {
		group    schema.GroupVersion
		resource string
		object   runtime.Object
		store    *cache.Store
	}{
		{networking.SchemeGroupVersion, "ingresses", &networking.Ingress{}, &w.ingresses},
		{core.SchemeGroupVersion, "services", &core.Service{}, &w.services},
		{discovery.SchemeGroupVersion, "endpointslices", &discovery.EndpointSlice{}, &w.slices},
	} {
		client, err := clientOf(config, one.group)
		if err != nil {
			return nil, err
		}
		*one.store = w.add(cache.NewListWatchFromClient(client, one.resource, namespace, fields.Everything()), one.object)
	}
	client, err := clientOf(config, core.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	for _, name := range secrets {
		// One watch per name, so that a Role can permit only these Secrets.
		only := fields.OneTermEqualSelector("metadata.name", name)
		w.secrets = append(w.secrets, w.add(cache.NewListWatchFromClient(client, "secrets", namespace, only), &core.Secret{}))
	}
	return w, nil
}

// clientOf speaks to one API group; a client of all groups is ten times its size.
func clientOf(config *rest.Config, group schema.GroupVersion) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, networking.AddToScheme, discovery.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	own := rest.CopyConfig(config)
	own.GroupVersion = &group
	own.APIPath = "/apis"
	if group.Group == "" {
		own.APIPath = "/api"
	}
	own.ContentType = runtime.ContentTypeProtobuf
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(own)
}

func (w *Watch) add(source cache.ListerWatcher, object runtime.Object) cache.Store {
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    object,
		Transform:     slim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.notify() },
			UpdateFunc: func(any, any) { w.notify() },
			DeleteFunc: func(any) { w.notify() },
		},
	})
	w.informers = append(w.informers, informer)
	return store
}

// slim removes managedFields, which are half of an object's size and unused here.
func slim(object any) (any, error) {
	if found, err := meta.Accessor(object); err == nil {
		found.SetManagedFields(nil)
	}
	return object, nil
}

func (w *Watch) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *Watch) run(ctx context.Context) {
	var synced []cache.InformerSynced
	for _, one := range w.informers {
		go one.RunWithContext(ctx)
		synced = append(synced, one.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return
	}
	for {
		w.update()
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
			time.Sleep(settle)
		}
	}
}

func (w *Watch) update() {
	var found objects
	found.class = w.class
	found.ingresses = all[*networking.Ingress](w.ingresses)
	found.services = all[*core.Service](w.services)
	found.slices = all[*discovery.EndpointSlice](w.slices)
	for _, store := range w.secrets {
		found.secrets = append(found.secrets, all[*core.Secret](store)...)
	}
	table := build(found)
	before := w.current.table.Swap(table)
	for problem := range table.problems {
		if before == nil || !before.problems[problem] {
			slog.Warn(problem)
		}
	}
	if before == nil || len(before.hosts) != len(table.hosts) {
		slog.Info("serving", "hosts", len(table.hosts))
	}
}

func all[T any](store cache.Store) []T {
	var found []T
	for _, one := range store.List() {
		found = append(found, one.(T))
	}
	return found
}
