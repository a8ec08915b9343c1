import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkAnswers } from './answers.js'

t.test('answers equal their recount', async (t) => checkAnswers(t, await openStore(t)))
