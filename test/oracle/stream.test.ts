import t from 'tap'
import { openStore } from '../fixtures/open.js'
import { judgeStream } from './stream.js'

t.test('a stream of small sites', (t) => judgeStream(t, () => openStore(t)))
