package woocommerce

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// topic: a resource and an event, or "action." and the name of a hook.
var topic = regexp.MustCompile(`^((order|coupon|customer|product)\.(created|updated|deleted|restored)|action\..+)$`)

// Topics: an order's beginning is order.created, its removal order.deleted, all else order.updated.
func (p *Platform) Topics(kind shop.Kind, _ shop.Order) []string {
	switch kind {
	case shop.Placed:
		return []string{"order.created"}
	case shop.Deleted:
		return []string{"order.deleted"}
	}
	return []string{"order.updated"}
}

// Policy: a minute for an answer, 200 to 302 is success, nothing is tried again, and the seventh failure in a row
// switches the webhook off (the count may not exceed 5 before it).
func (p *Platform) Policy() shop.Policy {
	return shop.Policy{
		Timeout: time.Minute, EndAfter: 7, Disable: true,
		Success: func(status int) bool { return status >= 200 && status < 303 },
	}
}

// Request makes the body, the order as the REST API shows it now, and the headers with the signature: base64 of the
// HMAC of the raw body with the webhook's own secret.
func (p *Platform) Request(s *shop.Shop, d shop.Delivery) (http.Header, []byte) {
	resource, event, _ := strings.Cut(d.Topic, ".")
	body := shop.O("id", d.Order.ID)
	if event != "deleted" {
		now, _ := s.Order(d.Order.ID)
		body = p.order(s, now)
	}
	raw, secret := shop.PHPJSON(body), d.Subscription.Secret
	if d.Forged == shop.ForgedKey {
		secret = "forged"
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {agent}}
	for name, value := range map[string]string{
		"Source": s.URL() + "/", "Topic": d.Topic, "Resource": resource, "Event": event, "Signature": Sign(raw, secret),
		"ID": strconv.FormatInt(d.Subscription.ID, 10), "Delivery-ID": s.Options().Secret(fmt.Sprint(d.ID, d.Attempt), 32),
	} {
		header.Set("X-WC-Webhook-"+name, value)
	}
	switch d.Forged {
	case shop.ForgedNone:
		header.Del("X-WC-Webhook-Signature")
	case shop.ForgedBody:
		raw = bytes.Replace(raw, []byte(`"id":`), []byte(`"id": `), 1)
	}
	return header, raw
}

// Sign is the signature of a webhook's raw body.
func Sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func webhook(s *shop.Shop, sub shop.Subscription) shop.Object {
	resource, event, _ := strings.Cut(sub.Topics[0], ".")
	status := "active"
	if sub.Disabled {
		status = "disabled"
	}
	out := shop.O("id", sub.ID, "name", sub.Name, "status", status, "topic", sub.Topics[0], "resource", resource, "event", event,
		"hooks", []string{"woocommerce_" + event + "_" + resource}, "delivery_url", sub.URL, "date_created", local(sub.CreatedAt),
		"date_created_gmt", gmt(sub.CreatedAt), "date_modified", local(sub.UpdatedAt), "date_modified_gmt", gmt(sub.UpdatedAt))
	return append(out, links(s, fmt.Sprintf("webhooks/%d", sub.ID), "webhooks")...)
}

func (p *Platform) webhooks(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	subs := s.Subscriptions()
	list(s, w, r, len(subs), func(i int) shop.Object { return webhook(s, subs[len(subs)-1-i]) })
}

type webhookBody struct {
	Name        *string `json:"name"`
	Status      *string `json:"status"`
	Topic       *string `json:"topic"`
	Secret      *string `json:"secret"`
	DeliveryURL *string `json:"delivery_url"`
}

// onto changes a webhook; the name of the parameter that is wrong, or "".
func (b webhookBody) onto(sub *shop.Subscription) (wrong string) {
	if b.Topic != nil {
		sub.Topics = []string{*b.Topic}
	}
	if b.DeliveryURL != nil {
		sub.URL = *b.DeliveryURL
	}
	if b.Secret != nil {
		sub.Secret = *b.Secret
	}
	if b.Name != nil {
		sub.Name = *b.Name
	}
	if b.Status != nil {
		sub.Disabled, sub.Failures = *b.Status != "active", 0
	}
	at, err := url.Parse(sub.URL)
	switch {
	case len(sub.Topics) == 0 || !topic.MatchString(sub.Topics[0]):
		return "topic"
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return "delivery_url"
	}
	return ""
}

func badWebhook(w http.ResponseWriter, wrong string) {
	refuse(w, http.StatusBadRequest, "woocommerce_rest_webhook_invalid_"+wrong, "Webhook "+wrong+" must be valid.")
}

func (p *Platform) newWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "rest_invalid_json", "Invalid JSON body passed.")
		return
	}
	sub := shop.Subscription{Name: "Webhook created on " + s.Now().Format(time.RFC1123), Secret: s.Options().Secret("webhook", 50)}
	if wrong := body.onto(&sub); wrong != "" {
		badWebhook(w, wrong)
		return
	}
	sub = s.Subscribe(sub)
	p.ping(r.Context(), s, sub)
	show(w, r, http.StatusCreated, webhook(s, sub))
}

// ping tries the address: a form, not signed. The webhook stays whatever the answer is.
func (p *Platform) ping(ctx context.Context, s *shop.Shop, sub shop.Subscription) int {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {agent}}
	return s.Ping(ctx, sub.URL, header, fmt.Appendf(nil, "webhook_id=%d", sub.ID), 5*time.Second)
}

func noWebhook(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "woocommerce_rest_shop_webhook_invalid_id", "Invalid ID.")
}

func (p *Platform) webhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if sub, ok := s.Subscription(id); ok {
		show(w, r, http.StatusOK, webhook(s, sub))
		return
	}
	noWebhook(w)
}

func (p *Platform) putWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "rest_invalid_json", "Invalid JSON body passed.")
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	wrong := ""
	sub, ok := s.ChangeSubscription(id, func(sub *shop.Subscription) {
		changed := *sub
		if wrong = body.onto(&changed); wrong == "" {
			*sub = changed
		}
	})
	switch {
	case !ok:
		noWebhook(w)
	case wrong != "":
		badWebhook(w, wrong)
	default:
		show(w, r, http.StatusOK, webhook(s, sub))
	}
}

func (p *Platform) deleteWebhook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	sub, ok := s.Subscription(id)
	switch force, _ := strconv.ParseBool(r.URL.Query().Get("force")); {
	case !ok:
		noWebhook(w)
	case !force:
		refuse(w, http.StatusNotImplemented, "woocommerce_rest_trash_not_supported", "Webhooks do not support trashing.")
	default:
		s.Unsubscribe(id)
		show(w, r, http.StatusOK, webhook(s, sub))
	}
}

var consent = template.Must(template.New("").Parse(`<!doctype html><html lang="pt"><meta charset="utf-8"><title>Aplicativo</title>
<h1>{{.App}} quer se conectar à loja {{.Shop}}</h1><p>Acesso: {{.Scope}}</p>
<form method="post"><button id="approve">Aprovar</button></form></html>`))

// Pages adds the page of consent, which sends fresh keys to the app ("Auto generating API keys").
func (p *Platform) Pages(s *shop.Shop, mux *http.ServeMux) {
	mux.HandleFunc("GET /wc-auth/v1/authorize", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = consent.Execute(w, map[string]string{"App": query.Get("app_name"), "Shop": s.Options().Shop, "Scope": query.Get("scope")})
	})
	mux.HandleFunc("POST /wc-auth/v1/authorize", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		to, err := url.Parse(query.Get("return_url"))
		callback, problem := url.Parse(query.Get("callback_url"))
		if err != nil || problem != nil || callback.Host == "" || p.options.StrictURLs && callback.Scheme != "https" {
			http.Error(w, "Error: the callback_url needs to be over SSL", http.StatusUnauthorized)
			return
		}
		p.mu.Lock()
		p.newKeys()
		body := shop.PHPJSON(shop.O("key_id", p.keys, "user_id", query.Get("user_id"), "consumer_key", p.key, "consumer_secret", p.secret,
			"key_permissions", query.Get("scope")))
		p.mu.Unlock()
		header := http.Header{"Content-Type": {"application/json;charset=utf-8"}, "User-Agent": {agent}}
		if status := s.Ping(r.Context(), callback.String(), header, body, time.Minute); status != http.StatusOK {
			http.Error(w, fmt.Sprintf("Error: an error occurred in the request and at the time were unable to send the consumer data (%d)", status),
				http.StatusUnauthorized)
			return
		}
		back := to.Query()
		back.Set("success", "1")
		back.Set("user_id", query.Get("user_id"))
		to.RawQuery = back.Encode()
		//nolint:gosec // the plug-in sends the merchant where the app says
		http.Redirect(w, r, to.String(), http.StatusFound)
	})
}
