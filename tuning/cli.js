#!/usr/bin/env node
import { main } from '../load/run/shell.js'
import { doctor } from '../load/verbs/doctor.js'
import { setup } from '../load/verbs/setup.js'
import { sweep } from '../load/verbs/sweep/sweep.js'
import { campaignOf } from './pages/evidence/campaign.js'
import { history } from './pages/history/history.js'
import { reportOn } from './pages/report/report.js'
import * as VERBS from './verbs.js'

const verbs = { sweep, doctor, setup, ...VERBS }
process.exitCode = await main(
  { ...verbs, history, evidence: campaignOf(), report: reportOn(verbs) },
  process.argv.slice(2),
)
