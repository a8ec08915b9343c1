import type { Language } from './account/page-language.js'

const en = {
  skip: 'Skip to the endpoints',
  endpoints: 'Endpoints',
  reference: 'Reference',
  parameter: 'Parameter',
  parameters: 'Parameters',
  sharedParameters: 'Shared parameters',
  filters: 'Filters',
  errors: 'Errors',
  field: 'Field',
  type: 'Type',
  description: 'Description',
  example: 'Example',
  required: 'required',
  default: 'default',
  accepts: 'Accepts',
  alsoAccepts: 'Also accepts',
  body: 'Body',
  request: 'Request',
  response: 'Response',
  version: 'Version',
  guide: 'Documentation of readership',
  alsoOpenApi: 'The same as an OpenAPI document:',
  createKey: 'Create a key with `readership keys create --name me` and send it:',
  ownAddress: "this page's address without /api/docs",
  answers:
    'Responses are `{"data": …, "meta": …}`, errors `{"error": {"code", "message", "field"?}}`. An unknown number is absent, never 0. Examples are recorded calls; their lists are cut to two entries.',
}

export type DocsTexts = typeof en

const de: DocsTexts = {
  skip: 'Zu den Endpunkten springen',
  endpoints: 'Endpunkte',
  reference: 'Nachschlagen',
  parameter: 'Parameter',
  parameters: 'Parameter',
  sharedParameters: 'Gemeinsame Parameter',
  filters: 'Filter',
  errors: 'Fehler',
  field: 'Feld',
  type: 'Typ',
  description: 'Beschreibung',
  example: 'Beispiel',
  required: 'nötig',
  default: 'Vorgabe',
  accepts: 'Versteht',
  alsoAccepts: 'Versteht auch',
  body: 'Inhalt der Anfrage',
  request: 'Anfrage',
  response: 'Antwort',
  version: 'Version',
  guide: 'Dokumentation von readership',
  alsoOpenApi: 'Die Beschreibungen sind auf Englisch, wie im OpenAPI-Dokument:',
  createKey: 'Legen Sie mit `readership keys create --name me` einen Schlüssel an und senden Sie ihn mit:',
  ownAddress: 'die Adresse dieser Seite ohne /api/docs',
  answers:
    'Antworten sind `{"data": …, "meta": …}`, Fehler `{"error": {"code", "message", "field"?}}`. Eine unbekannte Zahl fehlt und ist nie 0. Beispiele sind aufgezeichnete Aufrufe; ihre Listen sind auf zwei Einträge gekürzt.',
}

/** The words of the documentation page around the document's own, by language. */
export const docsTexts: Readonly<Record<Language, DocsTexts>> = { en, de }
