package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"sealgate.test/foreign-clients/gen/casegate"
	"sealgate.test/foreign-clients/gen/casegateadmin"
	"sealgate.test/foreign-clients/gen/console"
	"sealgate.test/foreign-clients/gen/ingestgateway"
	"sealgate.test/foreign-clients/gen/ingestgatewayadmin"
	"sealgate.test/foreign-clients/gen/ledgerpeer"
	"sealgate.test/foreign-clients/gen/ledgerpeeradmin"
	"sealgate.test/foreign-clients/gen/riskpartner"
	"sealgate.test/foreign-clients/gen/riskpartneradmin"
)

// Of every document a client is built; the console's needs a person who signs in.
var (
	_ = console.NewClientWithResponses
	_ = ledgerpeeradmin.NewClientWithResponses
	_ = riskpartneradmin.NewClientWithResponses
)

// A listener, and the value of the header that has its key.
type listener struct {
	URL string `json:"url"`
	Key string `json:"key"`
}

type surfaces struct {
	Ingest      listener `json:"ingest"`
	IngestAdmin listener `json:"ingestAdmin"`
	Network     string   `json:"network"`
	Peer        listener `json:"peer"`
	Gate        listener `json:"gate"`
	GateAdmin   listener `json:"gateAdmin"`
	Risk        listener `json:"risk"`
}

const header, bearer = "X-Api-Key", "Authorization"

func keyed[Editor ~func(context.Context, *http.Request) error](name, value string) Editor {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set(name, value)
		return nil
	}
}

// Read from the services, by the names that the test compares.
type answers map[string]any

// callSurfaces writes to each surface with its generated client, and prints what was read back.
func callSurfaces(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var at surfaces
	if err := json.Unmarshal(text, &at); err != nil {
		return err
	}
	read := answers{}
	for _, call := range []func(context.Context, surfaces, answers) error{ingest, assets, cases, risks} {
		if err := call(context.Background(), at, read); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(read)
}

func refused(what string, body []byte) error { return fmt.Errorf("%s: %s", what, body) }

func pointer[Value any](value Value) *Value { return &value }

var data = map[string]any{"total": 12.5, "lines": []any{"a", map[string]any{"é": nil}}}

func ingest(ctx context.Context, at surfaces, read answers) error {
	client, err := ingestgateway.NewClientWithResponses(at.Ingest.URL,
		ingestgateway.WithRequestEditorFn(keyed[ingestgateway.RequestEditorFn](header, at.Ingest.Key)))
	if err != nil {
		return err
	}
	record := ingestgateway.IngestRecord{Id: pointer("go-record"), Type: pointer("order"), Owner: pointer("Zoë"), Data: &data}
	var single, batch, bare, ping ingestgateway.IngestJSONRequestBody
	var first, second ingestgateway.BatchItem
	var number ingestgateway.BareJson
	steps := []error{
		single.FromIngestRecord(record),
		first.FromIngestRecord(ingestgateway.IngestRecord{Id: pointer("go-first"), Data: &data}),
		second.FromIngestRecord(ingestgateway.IngestRecord{Id: pointer("go-second"), AdditionalProperties: map[string]any{"a": "b"}}),
		batch.FromIngestBatch(ingestgateway.IngestBatch{Assets: []ingestgateway.BatchItem{first, second}}),
		number.FromBareJson2(1234567.875),
		bare.FromBareJson(number),
		ping.FromPing(ingestgateway.Ping{Type: "ping"}),
	}
	for _, err := range steps {
		if err != nil {
			return err
		}
	}
	for name, body := range map[string]ingestgateway.IngestJSONRequestBody{"single": single, "batch": batch, "bare": bare} {
		params := &ingestgateway.IngestParams{IdempotencyKey: pointer("go-" + name)}
		answer, err := client.IngestWithResponse(ctx, at.Network, params, body)
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return refused(name, answer.Body)
		}
		written, err := answer.JSON200.AsIngestAnswer()
		if err != nil {
			return err
		}
		for _, receipt := range written.Records {
			record, err := recordOf(ctx, at, receipt.Channel, receipt.Id)
			if err != nil {
				return err
			}
			if name == "bare" {
				receipt.Id = "bare"
			}
			read[receipt.Id] = map[string]any{"type": record.Type, "owner": record.Owner, "data": record.Data}
		}
	}
	answer, err := client.IngestWithResponse(ctx, at.Network, nil, ping)
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return refused("ping", answer.Body)
	}
	pong, err := answer.JSON200.AsPingAnswer()
	read["ping"] = pong.Ping
	return err
}

func recordOf(ctx context.Context, at surfaces, channel, id string) (*ingestgatewayadmin.LedgerRecord, error) {
	client, err := ingestgatewayadmin.NewClientWithResponses(at.IngestAdmin.URL,
		ingestgatewayadmin.WithRequestEditorFn(keyed[ingestgatewayadmin.RequestEditorFn](bearer, "Bearer "+at.IngestAdmin.Key)))
	if err != nil {
		return nil, err
	}
	answer, err := client.GetRecordWithResponse(ctx, channel, id)
	if err != nil {
		return nil, err
	}
	if answer.JSON200 == nil {
		return nil, refused(id, answer.Body)
	}
	return answer.JSON200, nil
}

func assets(ctx context.Context, at surfaces, read answers) error {
	client, err := ledgerpeer.NewClientWithResponses(at.Peer.URL,
		ledgerpeer.WithRequestEditorFn(keyed[ledgerpeer.RequestEditorFn](header, at.Peer.Key)))
	if err != nil {
		return err
	}
	body := ledgerpeer.SyncAssetsJSONRequestBody{Assets: []ledgerpeer.Asset{{Id: "go-asset", Type: "asset", Data: data}}}
	written, err := client.SyncAssetsWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if written.JSON200 == nil {
		return refused("assets", written.Body)
	}
	answer, err := client.ReadAssetWithResponse(ctx, "go-asset", &ledgerpeer.ReadAssetParams{Type: pointer("asset")})
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return refused("asset", answer.Body)
	}
	asset, err := answer.JSON200.AsReadAssetResult0()
	read["asset"] = asset
	return err
}

func cases(ctx context.Context, at surfaces, read answers) error {
	client, err := casegate.NewClientWithResponses(at.Gate.URL,
		casegate.WithRequestEditorFn(keyed[casegate.RequestEditorFn](bearer, "Bearer "+at.Gate.Key)))
	if err != nil {
		return err
	}
	metadata := map[string]string{"colour": "réd"}
	body := casegate.CreateCaseJSONRequestBody{SubjectRef: "subj_go", Metadata: &metadata, VenueIds: &[]string{"hall"}}
	created, err := client.CreateCaseWithResponse(ctx, &casegate.CreateCaseParams{IdempotencyKey: "go-case"}, body)
	if err != nil {
		return err
	}
	if created.JSON201 == nil {
		return refused("case", created.Body)
	}
	caseID := created.JSON201.CaseId
	status, err := client.ReadCaseWithResponse(ctx, caseID)
	if err != nil {
		return err
	}
	if status.JSON200 == nil {
		return refused("case", status.Body)
	}
	admin, err := casegateadmin.NewClientWithResponses(at.GateAdmin.URL,
		casegateadmin.WithRequestEditorFn(keyed[casegateadmin.RequestEditorFn](bearer, "Bearer "+at.GateAdmin.Key)))
	if err != nil {
		return err
	}
	detail, err := admin.GetCaseWithResponse(ctx, caseID, nil)
	if err != nil {
		return err
	}
	if detail.JSON200 == nil {
		return refused("case detail", detail.Body)
	}
	read["case"] = map[string]any{
		"status": status.JSON200.Status, "subject": status.JSON200.SubjectRef, "metadata": detail.JSON200.Metadata,
	}
	return nil
}

// With nanoseconds, as Go prints a time.
var review = time.Date(2031, 2, 3, 4, 5, 6, 123_456_789, time.FixedZone("", 2*3600))

func risks(ctx context.Context, at surfaces, read answers) error {
	client, err := riskpartner.NewClientWithResponses(at.Risk.URL,
		riskpartner.WithRequestEditorFn(keyed[riskpartner.RequestEditorFn](bearer, "Bearer "+at.Risk.Key)))
	if err != nil {
		return err
	}
	body := riskpartner.DashboardCreateRisksJSONRequestBody{
		Title: "From go", Category: "legal", Inherent: riskpartner.Estimate{Likelihood: 2, Impact: 3}, NextReviewAt: &review,
	}
	created, err := client.DashboardCreateRisksWithResponse(ctx, body)
	if err != nil {
		return err
	}
	if created.JSON201 == nil {
		return refused("risk", created.Body)
	}
	answer, err := client.DashboardGetRisksWithResponse(ctx, created.JSON201.Id)
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return refused("risk", answer.Body)
	}
	risk := answer.JSON200
	read["risk"] = map[string]any{"title": risk.Title, "impact": risk.Inherent.Impact, "nextReviewAt": risk.NextReviewAt}
	return nil
}
