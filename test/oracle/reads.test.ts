import t from 'tap'
import { openStore } from '../fixtures/open.js'
import { judgeGenerated } from './generated.js'

t.test('a generated site', (t) => judgeGenerated(t, () => openStore(t)))
